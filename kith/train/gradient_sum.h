#pragma once

#include <memory>
#include <vector>

#include "kith/distributed/lanes.h"

namespace kith {

class GradientBucket;

/// Adds up the gradients that the lanes of a step give for the same parameters,
/// in one step after another. The sum is that of LaneSum, the same to the bit
/// for any number of ranks.
///
/// Parameters that follow each other are sent together, the last ones first:
/// backward passes come to them first. So what the last pass has finished is
/// on its way while that still runs, by a thread of its own. The first
/// parameters, for which nobody has anything else to do, are few.
///
/// Gradients that finish() has given lie in memory that the next step uses
/// again. After an exception it cannot be used any more.
class GradientSum {
 public:
  /// Of parameters that share their device. `ranks` must outlive it.
  GradientSum(const std::vector<Tensor>& parameters, const Lanes& lanes,
              Communicator& ranks);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// Whether it is one of these, as they lie in memory now.
  bool is_of(const std::vector<Tensor>& parameters) const;

  /// Takes the gradients that this rank's next lane has given, and leaves none.
  void add_lane();

  /// The same of this rank's last lane, called before its last backward pass.
  /// Gradients are sent as that finishes them; until finish() nobody else may
  /// use the ranks.
  void begin_last_pass();

  /// When all lanes are in, puts the sums in their place. A parameter that got
  /// no gradient in any lane has none.
  void finish();

  /// After an error of this rank in the last pass: sends no more. Throws the
  /// RankError of what the others said meanwhile, such as that they fail too:
  /// then all know.
  void give_up();

 private:
  class Sender;

  void put_back();

  std::vector<Tensor> parameters_;
  std::vector<std::vector<int64_t>> strides_;
  std::vector<std::shared_ptr<GradientBucket>> buckets_;  ///< As they are sent.
  std::shared_ptr<Sender> sender_;  ///< Null: sent by finish() until now.
  bool sends_early_ = false;        ///< In this step.
};

}  // namespace kith
