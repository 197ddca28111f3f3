#include "kith/train/replayed_chunks.h"

#include <utility>

#include <torch/csrc/autograd/utils/grad_layout_contract.h>
#include <torch/torch.h>

#include "kith/core/log.h"
#include "kith/ops/gpu.h"
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

/// Both passes over a chunk.
struct ReplayedChunks::Chunk {
  Chunk(c10::Device device, const Replay* first)
      : forward(device, first), backward(device, first ? first : &forward) {}

  Tensor items;
  Tensor embeddings;  ///< With a graph until backward is recorded.
  Tensor gradient;    ///< dL/dembeddings
  Replay forward;
  Replay backward;
  bool has_backward = false;
};

struct ReplayedChunks::Recording {
  Kind kind;
  size_t count = 0;               ///< Chunks of a batch.
  std::vector<Tensor> wanting;    ///< Parameters that want gradients,
  std::vector<Tensor> gradients;  ///< and their sums; undefined: has none.
  RoundedWeights rounded;         ///< Until all is recorded.
  /// Those recorded so far. They share memory: all passes run one after the
  /// other, in the order in which they were recorded.
  std::vector<std::unique_ptr<Chunk>> chunks;

  /// Else the batch was given up, for a reason of others.
  bool is_complete() const {
    return chunks.size() == count && chunks.back()->has_backward;
  }
};

ReplayedChunks::ReplayedChunks(const torch::nn::Module& module, Network network,
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

ReplayedChunks::~ReplayedChunks() = default;

/// All that what is recorded depends on, beside the values of tensors.
ReplayedChunks::Kind ReplayedChunks::kind_of(
    const std::vector<Tensor>& chunks) const {
  Kind kind = {at::globalContext().deterministicCuDNN(),
               at::globalContext().benchmarkCuDNN(), chunks.size()};
  for (const Tensor& items : chunks) {
    kind.push_back(static_cast<uint64_t>(items.scalar_type()));
    kind.push_back(static_cast<uint64_t>(items.dim()));
    for (const int64_t size : items.sizes()) {
      kind.push_back(static_cast<uint64_t>(size));
    }
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

bool ReplayedChunks::begin(const std::vector<Tensor>& chunks,
                           const std::function<bool()>& has_room) {
  if (!is_on_) return false;
  next_ = 0;
  Kind kind = kind_of(chunks);
  if (recording_ && recording_->kind == kind && recording_->is_complete()) {
    seen_ = 0;
    save_gradients();
    return true;
  }
  if (kind != last_kind_) seen_ = 0;
  last_kind_ = kind;
  if (++seen_ <= kBatchesBefore) return false;
  recording_ = nullptr;  // before there is another
  if (!has_room()) {
    stop();
    log_info(
        "batches are not started as a whole (train.replay): the GPU has too "
        "little memory free to keep the graphs of all sub-batches");
    return false;
  }
  // A recording has memory of its own, and cannot have back what the usual way
  // keeps for later.
  if (device_.is_cuda()) release_gpu_cache();
  auto made = std::make_unique<Recording>();
  made->kind = std::move(kind);
  made->count = chunks.size();
  for (const Tensor& parameter : parameters_) {
    if (parameter.requires_grad()) made->wanting.push_back(parameter);
  }
  if (made->wanting.empty()) return false;
  recording_ = std::move(made);
  return true;
}

/// Gradients of the step before that are still there, to be added to, leave the
/// recordings' memory: forward passes use it too.
void ReplayedChunks::save_gradients() {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < recording_->wanting.size(); ++i) {
    Tensor& gradient = recording_->wanting[i].mutable_grad();
    if (gradient.defined() && gradient.is_same(recording_->gradients[i])) {
      gradient = gradient.clone();
    }
  }
}

Tensor ReplayedChunks::forward(const Tensor& items, uint64_t seed) {
  auto& chunks = recording_->chunks;
  const size_t place = next_++;
  if (place < chunks.size()) {
    chunks[place]->items.copy_(items);
    torch::manual_seed(seed);
    chunks[place]->forward.run();
  } else {
    chunks.push_back(std::make_unique<Chunk>(
        device_, place == 0 ? nullptr : &chunks.front()->forward));
    if (!record_forward(*chunks[place], items, seed)) return {};
  }
  return chunks[place]->embeddings.detach();
}

/// What forward() of a chunk records.
void ReplayedChunks::pass_forward(Chunk& chunk) {
  const torch::AutoGradMode with_graph(true);
  if (&chunk == recording_->chunks.front().get()) recording_->rounded.clear();
  const RoundedWeights::Use once_a_batch(recording_->rounded);
  chunk.embeddings = network_(chunk.items);
}

bool ReplayedChunks::record_forward(Chunk& chunk, const Tensor& items,
                                    uint64_t seed) {
  chunk.items = items.clone();
  if (next_ == 1) {
    tell_changed(parameters_);
    tell_changed(buffers_);
  }
  StatisticsGuard statistics(module_);
  torch::manual_seed(seed);
  try {
    chunk.forward.record([this, to = &chunk] { pass_forward(*to); });
  } catch (const std::exception& error) {
    give_up(why_not_recorded(error));
    return false;
  }
  statistics.dismiss();
  chunk.gradient =
      torch::empty(chunk.embeddings.sizes(), chunk.embeddings.options());
  return true;
}

bool ReplayedChunks::backward(const std::vector<Tensor>& gradients) {
  Recording& here = *recording_;
  const torch::NoGradGuard no_grad;
  const std::vector<Tensor> wanting = here.wanting;
  std::vector<Tensor> before;
  for (const Tensor& parameter : wanting) before.push_back(parameter.grad());
  for (size_t place = 0; place < here.count; ++place) {
    Chunk& chunk = *here.chunks[place];
    chunk.gradient.copy_(gradients[place]);
    if (chunk.has_backward) {
      chunk.backward.run();
    } else if (!record_backward(place)) {
      for (size_t i = 0; i < before.size(); ++i) {
        wanting[i].mutable_grad() = before[i];
      }
      return false;
    }
    if (place > 0) continue;
    // The other chunks add theirs to it, as they do the usual way.
    for (size_t i = 0; i < before.size(); ++i) {
      if (here.gradients[i].defined() && before[i].defined()) {
        here.gradients[i].add_(before[i]);
      }
    }
  }
  for (size_t i = 0; i < here.gradients.size(); ++i) {
    if (here.gradients[i].defined()) {
      wanting[i].mutable_grad() = here.gradients[i];
    }
  }
  // The forward pass changed statistics unseen.
  tell_changed(buffers_);
  return true;
}

bool ReplayedChunks::record_backward(size_t place) {
  Chunk& chunk = *recording_->chunks[place];
  try {
    chunk.backward.record([this, place] { pass_backward(place); });
  } catch (const std::exception& error) {
    give_up(why_not_recorded(error));
    return false;
  }
  chunk.has_backward = true;
  if (place + 1 < recording_->count) return true;
  // What the recording keeps of weights is only right while it runs.
  recording_->rounded.clear();
  tell_changed(parameters_);
  log_info(
      "from now on the network's passes over a batch are started as a whole "
      "(train.replay)");
  return true;
}

/// What backward() of a chunk records.
void ReplayedChunks::pass_backward(size_t place) {
  Recording& here = *recording_;
  Chunk& chunk = *here.chunks[place];
  std::vector<Tensor> all = torch::autograd::grad(
      {chunk.embeddings}, here.wanting, {chunk.gradient},
      /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
  chunk.embeddings = chunk.embeddings.detach();
  if (place == 0) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].defined()) all[i] = as_own(all[i], here.wanting[i]);
    }
    here.gradients = std::move(all);
    return;
  }
  std::vector<Tensor> sums, parts;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].defined()) continue;
    sums.push_back(here.gradients[i]);
    parts.push_back(std::move(all[i]));
  }
  at::_foreach_add_(sums, parts);
}

void ReplayedChunks::give_up(const std::string& reason) {
  stop();
  // Of what was made in a recording that broke a GPU has computed nothing.
  tell_changed(parameters_);
  tell_changed(buffers_);
  log_warning(
      "the network's passes over a batch cannot be recorded, and go on being "
      "started kernel by kernel, which gives the same numbers "
      "(train.replay): " +
      reason);
}

bool ReplayedChunks::stop() {
  is_on_ = false;
  return std::exchange(recording_, nullptr) != nullptr;
}

}  // namespace kith
