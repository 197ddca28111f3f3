#pragma once

#include <cstdint>
#include <vector>

namespace kith {

/// Positions of items, kept as ranges: of millions that were removed together
/// only the first and the last.
class PositionSet {
 public:
  struct Range {
    int64_t first = 0;
    int64_t last = 0;  ///< Inside.

    bool operator==(const Range&) const = default;
  };

  bool empty() const { return ranges_.empty(); }
  int64_t size() const { return size_; }
  bool contains(int64_t position) const;
  /// The n-th position, from 0 on, that is not in the set.
  int64_t nth_outside(int64_t n) const;
  /// Rising, with a gap between any two.
  const std::vector<Range>& ranges() const { return ranges_; }

  /// Puts a range behind all that are there, where it must be.
  void append(Range range);

  bool operator==(const PositionSet&) const = default;

 private:
  std::vector<Range> ranges_;
  std::vector<int64_t> before_;  ///< Positions in the ranges before each.
  int64_t size_ = 0;
};

}  // namespace kith
