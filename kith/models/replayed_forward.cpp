#include "kith/models/replayed_forward.h"

#include <torch/torch.h>

#include "kith/core/log.h"

namespace kith {
namespace {

constexpr int64_t kPassesBefore = 2;

/// Pictures of any shape would have more, each with memory of its own.
constexpr int64_t kMostRecordings = 8;

}  // namespace

ReplayedForward::ReplayedForward(EmbeddingNet& net, bool pooled, bool always)
    : net_(net), pooled_(pooled), always_(always), can_(!net.is_own()) {}

bool ReplayedForward::may_replay(const Tensor& pixels) const {
  const bool is_small = pixels.is_cuda() && pixels.numel() <= kMostReplayed;
  return can_ && (always_ || is_small);
}

Tensor ReplayedForward::pass(const Tensor& pixels) const {
  const torch::NoGradGuard no_grad;
  const Tensor images = net_.prepare(pixels);
  return pooled_ ? net_.pooled(images) : net_.forward(images);
}

Tensor ReplayedForward::operator()(const Tensor& pixels) {
  if (!may_replay(pixels)) return pass(pixels);
  Shape& shape = shapes_[pixels.sizes().vec()];
  if (shape.replay) {
    shape.pixels.copy_(pixels);
    shape.replay->run();
    return shape.made.clone();
  }
  const bool is_new =
      ++shape.seen <= kPassesBefore || recordings_ == kMostRecordings;
  if (is_new || !record(shape, pixels)) return pass(pixels);
  return shape.made.clone();
}

bool ReplayedForward::record(Shape& shape, const Tensor& pixels) {
  auto replay = std::make_unique<Replay>(pixels.device(), first_);
  try {
    shape.pixels = pixels.clone();
    replay->record([this, &shape] { shape.made = pass(shape.pixels); });
  } catch (const std::exception& error) {
    can_ = false;
    first_ = nullptr;
    recordings_ = 0;
    shapes_.clear();
    log_warning(
        "passes over a few pictures cannot be recorded, and go on being "
        "started kernel by kernel, which gives the same numbers: " +
        why_not_recorded(error));
    return false;
  }
  shape.replay = std::move(replay);
  if (first_ == nullptr) first_ = shape.replay.get();
  ++recordings_;
  return true;
}

}  // namespace kith
