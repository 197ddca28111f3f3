#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/distributed/communicator.h"

namespace kith {

/// The work of a step in `count` lanes, of which every rank has the same
/// number, neighbours. What a lane computes depends on the number of lanes
/// alone, so any number of ranks that divides it gives the same bits.
struct Lanes {
  int64_t count = 1;
  int64_t first = 0;  ///< This rank's are [first, last).
  int64_t last = 1;

  Lanes() = default;
  /// 0 lanes: one a rank. ConfigError if the ranks do not divide them.
  Lanes(int64_t lanes, const Communicator& ranks);

  /// The lane at which rank `rank` of `ranks` begins.
  int64_t begin_of(int64_t rank, int64_t ranks) const {
    return count * rank / ranks;
  }
};

/// Adds up a tensor of each lane in the order of a binary tree over all lanes:
/// a node [a, b) is the sum of its halves [a, m) and [m, b), m = (a + b + 1) /
/// 2. Where the lanes of a rank are a node, as they are if both numbers are
/// powers of two, each rank sends one tensor whatever the number of its lanes.
class LaneSum {
 public:
  LaneSum(const Lanes& lanes, Communicator& ranks);

  /// The tensor of the next lane of this rank, [n]; it is used up.
  void add(Tensor lane);

  /// The sums of what was added, from left to right, that wait for others.
  std::vector<Tensor> waiting() const;

  /// The sum over all lanes, the same on every rank: each rank adds up its
  /// share of the numbers and all gather the shares.
  Tensor total();

  /// The same, put into `sum`, of the shape and type of a lane's tensor and
  /// contiguous; it may be that of this rank's first lane, if it has several.
  /// Then begins anew.
  void total_into(const Tensor& sum);

 private:
  struct Node {
    int64_t begin = 0;
    int64_t end = 0;
    Tensor sum;
  };

  Lanes lanes_;
  Communicator& ranks_;
  std::vector<Node> nodes_;  ///< Complete, from left to right.
  int64_t next_;
};

}  // namespace kith
