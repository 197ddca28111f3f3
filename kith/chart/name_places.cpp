#include "kith/chart/name_places.h"

#include <algorithm>

namespace kith {
namespace {

constexpr double kReach = 4.0;    // of a point's mark
constexpr double kNameGap = 3.0;  // between the mark and its name

NameBox box_at(double left, double top, double width, double height) {
  return {left, top, left + width, top + height};
}

}  // namespace

void NamePlaces::add_point(double x, double y) {
  taken_.push_back({x - kReach, y - kReach, x + kReach, y + kReach});
}

std::optional<NameBox> NamePlaces::take(double x, double y, double width,
                                        double height) {
  const double away = kReach + kNameGap;
  const NameBox places[] = {
      box_at(x + away, y - height / 2, width, height),
      box_at(x - away - width, y - height / 2, width, height),
      box_at(x - width / 2, y - away - height, width, height),
      box_at(x - width / 2, y + away, width, height)};
  for (const NameBox& box : places) {
    if (!is_free(box)) continue;
    taken_.push_back(box);
    return box;
  }
  return {};
}

bool NamePlaces::is_free(const NameBox& box) const {
  if (box.left < frame_.left || box.right > frame_.right ||
      box.top < frame_.top || box.bottom > frame_.bottom) {
    return false;
  }
  return std::none_of(taken_.begin(), taken_.end(), [&](const NameBox& other) {
    return box.overlaps(other);
  });
}

}  // namespace kith
