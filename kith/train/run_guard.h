#pragma once

#include <string>

#include "kith/core/tensor.h"
#include "kith/data/batch.h"
#include "kith/data/data_set.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_log.h"

namespace kith {

/// Stops a run whose numbers have gone wrong, before anything is made of them,
/// and leaves in its folder what a user needs to find out why.
class RunGuard {
 public:
  /// `data` must outlive it.
  RunGuard(std::string folder, const DataSet& data);

  /// After a step number `step`: RunError, with the first in the order of
  /// computation that has one, if its loss or the norm of its gradient is NaN
  /// or infinite.
  void check_step(const Batch& batch, int64_t step, const StepRecord& record,
                  const Tensor& embeddings, const Tensor& loss,
                  const NamedTensors& parameters) const;

  /// The same for a batch whose loss could not be computed: RunError if that
  /// was the embeddings' fault.
  void check_embeddings(const Batch& batch, int64_t step,
                        const Tensor& embeddings) const;

  /// Before weights are evaluated or saved: the last step may have broken them,
  /// and running statistics may be broken where no gradient is.
  void check_weights(const NamedTensors& weights, int64_t step) const;

  /// Ends a run that would go the same way again; its folder says so.
  [[noreturn]] void stop_diverged(const std::string& why) const;

  /// Forgets what another try left in the folder.
  void begin() const;

 private:
  [[noreturn]] void stop_at_batch(const Batch& batch, int64_t step,
                                  const std::string& where) const;

  RunFolder folder_;
  const DataSet& data_;
};

}  // namespace kith
