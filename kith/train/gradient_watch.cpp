#include "kith/train/gradient_watch.h"

#include <string>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/number_text.h"

namespace kith {
namespace {

/// "loss 0, queries_without_positives 400"
std::string statistics(const StepRecord& step) {
  std::string text = format_number("loss %g", step.loss);
  for (const auto& [name, value] : step.stats) {
    text += ", " + name + format_number(" %g", value);
  }
  return text;
}

}  // namespace

void GradientWatch::add(const StepRecord& step) {
  ++steps_;
  if (step.grad_norm != 0) ++with_gradient_;
  last_ = step;
}

void GradientWatch::end_epoch(int64_t epoch) {
  if (steps_ > 0 && with_gradient_ == 0) {
    const std::string found = "epoch " + std::to_string(epoch + 1) +
                              ": the gradient was exactly zero in all " +
                              std::to_string(steps_) +
                              " steps (the last: " + statistics(last_) + ")";
    if (!has_learnt_) {
      throw RunError(
          found +
          ", so nothing is learnt. Are there several images of a class in a "
          "batch (sampler, sampler.per_class), and tuples for the loss "
          "(miner)?");
    }
    log_warning(found +
                ": the loss had nothing to teach, and the network stays as it "
                "is but for weight decay");
  }
  has_learnt_ |= with_gradient_ > 0;
  steps_ = with_gradient_ = 0;
}

}  // namespace kith
