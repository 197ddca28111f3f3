#include "kith/train/replayed_chunk.h"

#include <utility>

#include <torch/csrc/autograd/utils/grad_layout_contract.h>
#include <torch/torch.h>

#include "kith/core/log.h"
#include "kith/ops/replay.h"
#include "kith/ops/rounded_weights.h"
#include "kith/train/statistics_guard.h"

namespace kith {
namespace {

/// Batches of a kind that are computed the usual way first.
constexpr int64_t kBatchesBefore = 2;

/// What is made of these tensors, and kept for as long as their versions stay,
/// is made again from now on.
void tell_changed(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.is_inference()) tensor.unsafeGetTensorImpl()->bump_version();
  }
}

/// A gradient that is nobody else's and lies as LibTorch lays it into grad().
Tensor as_own(const Tensor& gradient, const Tensor& parameter) {
  namespace utils = torch::autograd::utils;
  const bool is_own =
      gradient.use_count() == 1 && gradient.storage().use_count() == 1;
  return is_own && utils::obeys_layout_contract(gradient, parameter)
             ? gradient
             : utils::clone_obey_contract(gradient, parameter);
}

}  // namespace

struct ReplayedChunk::Recording {
  explicit Recording(c10::Device device)
      : forward(device), backward(device, &forward) {}

  Kind kind;
  Tensor items;
  Tensor embeddings;              ///< With a graph until backward is recorded.
  Tensor gradient;                ///< dL/dembeddings
  std::vector<Tensor> wanting;    ///< Parameters that want gradients,
  std::vector<Tensor> gradients;  ///< and these; undefined: has none.
  Replay forward;
  Replay backward;
  bool has_backward = false;
};

ReplayedChunk::ReplayedChunk(const torch::nn::Module& module, Network network,
                             c10::Device device)
    : module_(module),
      network_(std::move(network)),
      device_(device),
      modules_({&module}),
      parameters_(module.parameters()),
      buffers_(module.buffers()) {
  for (const auto& each : module.modules(/*include_self=*/false)) {
    modules_.push_back(each.get());
  }
}

ReplayedChunk::~ReplayedChunk() = default;

/// All that what is recorded depends on, beside the values of tensors.
ReplayedChunk::Kind ReplayedChunk::kind_of(const Tensor& items) const {
  Kind kind = {static_cast<uint64_t>(items.scalar_type()),
               at::globalContext().deterministicCuDNN(),
               at::globalContext().benchmarkCuDNN()};
  for (const int64_t size : items.sizes()) {
    kind.push_back(static_cast<uint64_t>(size));
  }
  const auto add_place = [&](const Tensor& tensor) {
    kind.push_back(reinterpret_cast<uintptr_t>(tensor.data_ptr()));
  };
  for (const Tensor& parameter : parameters_) {
    add_place(parameter);
    kind.push_back(parameter.requires_grad());
  }
  for (const Tensor& buffer : buffers_) add_place(buffer);
  for (const auto* module : modules_) kind.push_back(module->is_training());
  return kind;
}

Tensor ReplayedChunk::forward(const Tensor& items, uint64_t seed,
                              const std::function<bool()>& has_room) {
  if (!is_on_) return {};
  Kind kind = kind_of(items);
  if (recording_ && recording_->kind == kind) {
    seen_ = 0;
    recording_->items.copy_(items);
    torch::manual_seed(seed);
    recording_->forward.run();
    return recording_->embeddings.detach();
  }
  if (kind != last_kind_) seen_ = 0;
  last_kind_ = kind;
  if (++seen_ <= kBatchesBefore) return {};
  recording_ = nullptr;  // before there is another
  if (!has_room()) {
    give_up("the GPU has too little memory free to keep one");
    return {};
  }
  return record_forward(items, std::move(kind), seed);
}

Tensor ReplayedChunk::record_forward(const Tensor& items, Kind kind,
                                     uint64_t seed) {
  auto made = std::make_unique<Recording>(device_);
  made->kind = std::move(kind);
  made->items = items.clone();
  for (const Tensor& parameter : parameters_) {
    if (parameter.requires_grad()) made->wanting.push_back(parameter);
  }
  if (made->wanting.empty()) return {};
  tell_changed(parameters_);
  tell_changed(buffers_);
  StatisticsGuard statistics(module_);
  torch::manual_seed(seed);
  try {
    made->forward.record([this, to = made.get()] {
      const torch::AutoGradMode with_graph(true);
      RoundedWeights rounded;
      const RoundedWeights::Use here(rounded);
      to->embeddings = network_(to->items);
    });
  } catch (const std::exception& error) {
    give_up(why_not_recorded(error));
    return {};
  }
  statistics.dismiss();
  made->gradient =
      torch::empty(made->embeddings.sizes(), made->embeddings.options());
  recording_ = std::move(made);
  return recording_->embeddings.detach();
}

bool ReplayedChunk::backward(const Tensor& gradient) {
  Recording& here = *recording_;
  const torch::NoGradGuard no_grad;
  // Those of the step before stay if they are to be added to.
  for (size_t i = 0; i < here.gradients.size(); ++i) {
    Tensor& before = here.wanting[i].mutable_grad();
    if (before.defined() && before.is_same(here.gradients[i])) {
      before = before.clone();
    }
  }
  here.gradient.copy_(gradient);
  if (here.has_backward) {
    here.backward.run();
  } else if (!record_backward()) {
    return false;
  }
  for (size_t i = 0; i < here.gradients.size(); ++i) {
    if (!here.gradients[i].defined()) continue;
    Tensor& sum = here.wanting[i].mutable_grad();
    if (sum.defined()) {
      sum.add_(here.gradients[i]);
    } else {
      sum = here.gradients[i];
    }
  }
  // The forward pass changed statistics unseen.
  tell_changed(buffers_);
  return true;
}

bool ReplayedChunk::record_backward() {
  try {
    recording_->backward.record([this, to = recording_.get()] {
      to->gradients = gradients_of(*to);
      to->embeddings = to->embeddings.detach();
    });
  } catch (const std::exception& error) {
    give_up(why_not_recorded(error));
    return false;
  }
  recording_->has_backward = true;
  // What the recording keeps of weights is only right while it runs.
  tell_changed(parameters_);
  log_info(
      "from now on the network's passes over a batch are started as a whole "
      "(train.replay)");
  return true;
}

std::vector<Tensor> ReplayedChunk::gradients_of(
    const Recording& recording) const {
  std::vector<Tensor> all = torch::autograd::grad(
      {recording.embeddings}, recording.wanting, {recording.gradient},
      /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].defined()) all[i] = as_own(all[i], recording.wanting[i]);
  }
  return all;
}

void ReplayedChunk::give_up(const std::string& reason) {
  stop();
  log_warning(
      "the network's passes over a batch cannot be recorded, and go on being "
      "started kernel by kernel, which gives the same numbers "
      "(train.replay): " +
      reason);
}

bool ReplayedChunk::stop() {
  is_on_ = false;
  return std::exchange(recording_, nullptr) != nullptr;
}

}  // namespace kith
