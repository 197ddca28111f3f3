#include "kith/train/run_guard.h"

#include <cmath>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/ops/finite.h"

namespace kith {
namespace {

bool is_bad(const Tensor& tensor) {
  return !torch::isfinite(tensor).all().item<bool>();
}

/// What first has a NaN or infinity, in the order of computation.
std::string first_bad(const Tensor& embeddings, const Tensor& loss,
                      const NamedTensors& parameters) {
  if (is_bad(embeddings)) return "the embeddings";
  if (is_bad(loss)) return "the loss";
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined() && is_bad(parameter.grad())) {
      return "the gradient of " + name;
    }
  }
  return "the norm of the gradient";
}

}  // namespace

RunGuard::RunGuard(std::string folder, const DataSet& data)
    : folder_(std::move(folder)), data_(data) {}

void RunGuard::begin() const { remove_file(folder_.diverged()); }

void RunGuard::check_step(const Batch& batch, int64_t step,
                          const StepRecord& record, const Tensor& embeddings,
                          const Tensor& loss,
                          const NamedTensors& parameters) const {
  if (std::isfinite(record.grad_norm) && std::isfinite(record.loss)) return;
  stop_at_batch(batch, step, first_bad(embeddings, loss, parameters));
}

void RunGuard::check_embeddings(const Batch& batch, int64_t step,
                                const Tensor& embeddings) const {
  if (is_bad(embeddings)) stop_at_batch(batch, step, "the embeddings");
}

/// Lists the images of the batch in a file of the run's folder.
void RunGuard::stop_at_batch(const Batch& batch, int64_t step,
                             const std::string& where) const {
  std::string paths;
  for (const int64_t index : batch.indices) {
    paths += data_.list().items[static_cast<size_t>(index)].path + "\n";
  }
  const std::string file = folder_.bad_batch();
  write_file_atomically(file, paths);
  throw RunError("step " + std::to_string(step) + ": NaN or infinity in " +
                 where + "; the images of the batch are listed in " + file +
                 ". A smaller learning rate or train.clip_norm often helps.");
}

void RunGuard::check_weights(const NamedTensors& weights, int64_t step) const {
  const std::string bad = first_bad_tensor(weights);
  if (bad.empty()) return;
  stop_diverged("NaN or infinity in " + bad + " after step " +
                std::to_string(step) +
                ": these weights are not saved, earlier checkpoints stay. A "
                "smaller optimizer.lr or train.clip_norm often helps.");
}

void RunGuard::stop_diverged(const std::string& why) const {
  write_file_atomically(folder_.diverged(), why + "\n");
  throw RunError(why);
}

}  // namespace kith
