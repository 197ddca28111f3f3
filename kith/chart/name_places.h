#pragma once

#include <optional>
#include <vector>

namespace kith {

struct NameBox {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;

  bool overlaps(const NameBox& other) const {
    return left < other.right && other.left < right && top < other.bottom &&
           other.top < bottom;
  }
};

/// Finds room for names beside points, so that none covers another or a point.
class NamePlaces {
 public:
  /// Names stay within `frame`.
  explicit NamePlaces(const NameBox& frame) : frame_(frame) {}

  /// A point that no name may cover.
  void add_point(double x, double y);

  /// Room for a name of this width and height beside a point: right, left,
  /// above or below, whichever is free first. It is taken then. Nothing if
  /// there is none.
  std::optional<NameBox> take(double x, double y, double width, double height);

 private:
  bool is_free(const NameBox& box) const;

  NameBox frame_;
  std::vector<NameBox> taken_;
};

}  // namespace kith
