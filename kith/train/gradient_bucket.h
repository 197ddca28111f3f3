#pragma once

#include <vector>

#include "kith/distributed/lanes.h"

namespace kith {

/// Gradients of some of a network's parameters, which are sent behind each
/// other. Its memory is kept from step to step, and so are the tensors that
/// each gradient lies in: making some hundred of them anew would take a GPU's
/// host longer than sending them.
class GradientBucket {
 public:
  /// Of parameters of one type that share their device. `ranks` must outlive
  /// it.
  GradientBucket(std::vector<Tensor> parameters, const Lanes& lanes,
                 Communicator& ranks);

  const std::vector<Tensor>& parameters() const { return parameters_; }

  /// Copies the gradients of this rank's next lane, which are gone then.
  void take();

  /// What was taken is in. The last lane of the rank is not copied, so it must
  /// be added up before the next one is taken.
  void add();

  /// Between the ranks, when all lanes are in.
  void add_up();

  /// For each parameter, after add_up(): more than zero if a lane of any rank
  /// had a gradient. Undefined for one rank, which knows.
  Tensor flags() const;

  /// Gives the parameters the sums. `has` is what flags() says, on the host;
  /// null for one rank.
  void put_back(const float* has);

  /// Its memory, with what was added so far, is used on this thread's stream
  /// too.
  void use_on_this_stream() const;

 private:
  Tensor part_of(const Tensor& numbers, size_t parameter) const;

  std::vector<Tensor> parameters_;
  Lanes lanes_;
  bool is_one_;                  ///< Rank.
  std::vector<int64_t> begins_;  ///< Of each parameter's numbers.
  int64_t flags_at_ = 0;
  Tensor lane_;  ///< The gradients of a lane; then, if several ranks, flags.
  Tensor sum_;   ///< Over all lanes.
  std::vector<Tensor> lane_parts_;  ///< Each parameter's, as it lies in memory.
  std::vector<Tensor> sum_parts_;
  std::vector<float> flags_;  ///< More than zero: has numbers in lane_.
  std::vector<bool> has_;     ///< In any lane of this rank.
  int64_t added_ = 0;         ///< Lanes.
  LaneSum lane_sum_;
};

}  // namespace kith
