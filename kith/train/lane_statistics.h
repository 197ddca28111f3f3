#pragma once

#include <vector>

#include "kith/distributed/lanes.h"

namespace kith {

/// Batch norm that gathers statistics: every lane goes on from those before the
/// step, and after it they are the mean of what the lanes have, counters the
/// sum. Of one lane they are what that gathers.
class LaneStatistics {
 public:
  /// `buffers` of a network (see gathered_statistics); none: does nothing.
  /// `ranks` must outlive it.
  LaneStatistics(std::vector<Tensor> buffers, const Lanes& lanes,
                 Communicator& ranks);

  void begin_lane();
  /// `counts`: whether the lane had pictures.
  void end_lane(bool counts);
  /// When all lanes are in; `lanes` of them had pictures.
  void finish(int64_t lanes);

 private:
  Tensor values() const;
  void set(const Tensor& values);

  std::vector<Tensor> buffers_;
  Tensor before_;
  LaneSum sum_;
};

}  // namespace kith
