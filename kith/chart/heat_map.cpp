#include "kith/chart/heat_map.h"

#include <algorithm>
#include <cmath>

#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/chart/svg.h"
#include "kith/core/error.h"

namespace kith {
namespace {

constexpr double kMapWidth = 640.0;
constexpr double kMatrix = 440.0;  // its greatest width and height
constexpr double kMostCell = 48.0;
constexpr double kNumberCell = 34.0;  // the least that holds "−0.83"
constexpr double kMostRowName = 160.0;
constexpr double kNumberGround = 0.62;  // so that numbers can be read on it
constexpr int kLevels = 20;             // of strength, in each colour

/// A rectangle of a path.
std::string box(double x, double y, double width, double height) {
  return "M" + svg_number(x) + " " + svg_number(y) + "h" + svg_number(width) +
         "v" + svg_number(height) + "h-" + svg_number(width) + "z";
}

/// All cells of one colour and strength: a large matrix is then small text.
std::string filled(const std::string& path, int level, double strongest) {
  if (path.empty()) return "";
  const double strength = strongest * std::abs(level) / kLevels;
  return "<path d=\"" + path + "\" class=\"" +
         svg_fill_class(level < 0 ? 1 : 0) + "\" fill-opacity=\"" +
         format_fixed(strength, 3) + "\"/>\n";
}

int level_of(double value) {
  return static_cast<int>(std::lround(std::clamp(value, -1.0, 1.0) * kLevels));
}

std::string number_text(double value) {
  if (std::isnan(value)) return "–";
  const std::string text = format_fixed(std::abs(value), 2);
  return value < 0 && text != "0.00" ? "−" + text : text;
}

class Matrix {
 public:
  explicit Matrix(const HeatMap& map) : map_(map) {
    KITH_ASSERT(map.values.size() == map.size * map.size);
    KITH_ASSERT(map.names.empty() || map.names.size() == map.size);
    cell_ =
        std::min(kMatrix / static_cast<double>(std::max<size_t>(map.size, 1)),
                 kMostCell);
  }

  std::string draw() {
    std::string head;
    top_ = svg_add_head(head, map_.note, {}, kMapWidth) + 12.0;
    left_ = map_.names.empty() ? 24.0 : name_width() + 10.0;
    if (!map_.names.empty()) top_ += 0.72 * name_width() + 8.0;
    bottom_ = top_ + std::max(cell_ * static_cast<double>(map_.size), 40.0);
    const double height = bottom_ + (map_.names.empty() ? 72.0 : 52.0);
    svg_ = svg_open(map_.title, kMapWidth, height) + head;
    if (map_.size == 0) svg_ += svg_text(left_, top_ + 24, "a", "no data");
    add_colours();
    if (has_numbers()) add_numbers();
    if (map_.names.empty()) {
      add_axis_labels();
    } else {
      add_names();
    }
    add_scale(height - 28.0);
    return svg_ + "</svg>\n";
  }

 private:
  double x_of(size_t column) const {
    return left_ + cell_ * static_cast<double>(column);
  }
  double y_of(size_t row) const {
    return top_ + cell_ * static_cast<double>(row);
  }

  bool has_numbers() const { return cell_ >= kNumberCell; }
  double strongest() const { return has_numbers() ? kNumberGround : 1.0; }

  double name_width() const {
    double widest = 40.0;
    for (const std::string& name : map_.names) {
      widest = std::max(widest, svg_text_width(name, kSvgFont));
    }
    return std::min(widest, kMostRowName);
  }

  void add_colours() {
    std::vector<std::string> paths(2 * kLevels + 1);
    const double gap = has_numbers() ? 1.5 : 0.0;
    for (size_t i = 0; i < map_.values.size(); ++i) {
      if (!plottable(map_.values[i])) continue;
      paths[static_cast<size_t>(level_of(map_.values[i]) + kLevels)] += box(
          x_of(i % map_.size), y_of(i / map_.size), cell_ - gap, cell_ - gap);
    }
    for (int level = -kLevels; level <= kLevels; ++level) {
      svg_ += filled(paths[static_cast<size_t>(level + kLevels)], level,
                     strongest());
    }
  }

  void add_numbers() {
    for (size_t i = 0; i < map_.values.size(); ++i) {
      const size_t row = i / map_.size, column = i % map_.size;
      svg_ += svg_text(x_of(column) + cell_ / 2, y_of(row) + cell_ / 2 + 4.5,
                       "n m", number_text(map_.values[i]));
    }
  }

  void add_names() {
    // Where rows are lower than letters, every second or third name is left.
    const auto every = static_cast<size_t>(std::ceil(15.0 / cell_));
    for (size_t i = 0; i < map_.size; i += every) {
      const std::string name = svg_fit(map_.names[i], kMostRowName);
      svg_ += svg_text(left_ - 8, y_of(i) + cell_ / 2 + 4.5, "e", name);
      const std::string x = svg_number(x_of(i) + cell_ / 2);
      const std::string y = svg_number(top_ - 6);
      svg_ += "<text x=\"" + x + "\" y=\"" + y + "\" transform=\"rotate(-45 " +
              x + " " + y + ")\">" + html_escape(name) + "</text>\n";
    }
  }

  void add_axis_labels() {
    const double middle = (top_ + bottom_) / 2;
    svg_ += svg_text(left_ + cell_ * static_cast<double>(map_.size) / 2,
                     bottom_ + 20, "a m", map_.x_label);
    svg_ += "<text x=\"14\" y=\"" + svg_number(middle) +
            "\" class=\"a m\" transform=\"rotate(-90 14 " + svg_number(middle) +
            ")\">" + html_escape(map_.y_label) + "</text>\n";
  }

  /// The colours with what they mean.
  void add_scale(double y) {
    constexpr double kStep = 8.0;
    double x = left_;
    for (int level = -kLevels; level <= kLevels; ++level) {
      svg_ += filled(box(x, y, kStep, 10.0), level, strongest());
      x += kStep;
    }
    const double width = x - left_;
    svg_ += svg_text(left_, y + 24, "a n", "−1");
    svg_ += svg_text(left_ + width / 2, y + 24, "a n m", "0");
    svg_ += svg_text(x, y + 24, "a n e", "1");
  }

  const HeatMap& map_;
  double cell_ = 0.0;
  double left_ = 0.0;
  double top_ = 0.0;
  double bottom_ = 0.0;
  std::string svg_;
};

}  // namespace

std::string heat_map(const HeatMap& map) { return Matrix(map).draw(); }

}  // namespace kith
