#pragma once

#include <vector>

#include "kith/distributed/lanes.h"

namespace kith {

/// Adds up what the lanes of a step give for the same tensors: gradients of
/// parameters, or statistics of batch norm. The sum is that of LaneSum, the
/// same to the bit for any number of ranks.
class GradientSum {
 public:
  /// Of parameters that share their device. `ranks` must outlive it.
  GradientSum(std::vector<Tensor> parameters, const Lanes& lanes,
              Communicator& ranks);

  /// Takes the gradients that this rank's next lane has given, and leaves none.
  void add_lane();

  /// When all lanes are in, puts the sums in their place. A parameter that got
  /// no gradient in any lane has none.
  void finish();

 private:
  std::vector<Tensor> parameters_;
  LaneSum sum_;
};

/// Batch norm that gathers statistics: every lane goes on from those before the
/// step, and after it they are the mean of what the lanes have, counters the
/// sum. Of one lane they are what that gathers.
class LaneStatistics {
 public:
  /// `buffers` of a network (see gathered_statistics); none: does nothing.
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
