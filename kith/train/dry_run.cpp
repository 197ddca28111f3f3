#include <algorithm>

#include "kith/core/timer.h"
#include "kith/train/feature_bank.h"
#include "kith/train/run_book.h"
#include "kith/train/trainer.h"
#include "kith/train/training_step.h"

namespace kith {
namespace {

/// How many evaluations a run of `epochs` epochs has.
int64_t evaluations_of(const EvalOptions& eval, int64_t epochs) {
  const int64_t after =
      eval.every == 0
          ? 1
          : epochs / eval.every + (epochs % eval.every == 0 ? 0 : 1);
  return after + (eval.before ? 1 : 0);
}

}  // namespace

DryRun Trainer::dry_run() {
  constexpr int64_t kSteps = 4;  // the first ones fill caches and queues
  start_weights();
  RunState& state = book_->state();
  feed_->prepare_pool(state, [this] { return embed_images(split_->images()); });
  Epoch epoch = feed_->open(0, 0, kSteps);
  DryRun result;
  result.steps_an_epoch = epoch.steps;
  result.steps = epoch.steps * config_.train.last_epoch();
  if (config_.train.steps > 0) {
    result.steps = std::min(result.steps, config_.train.steps);
  }
  if (bank_) {
    std::vector<int64_t> images;
    for (const Epoch::Step& step : epoch.coming) {
      images.insert(images.end(), step.images.begin(), step.images.end());
    }
    std::sort(images.begin(), images.end());
    images.erase(std::unique(images.begin(), images.end()), images.end());
    const Timer timer;
    fill_bank(images);
    result.seconds = timer.seconds() *
                     static_cast<double>(split_->images().size()) /
                     static_cast<double>(images.size());
  }
  net_->train();
  while (epoch.remaining() > 0) {
    PhaseMeter meter(device_);
    result.step = step_->take(epoch.next(), state, epoch.steps, meter);
  }
  result.sub_batch = step_->sub_batch();
  result.chunks = step_->chunks();
  result.graphs_kept = step_->graphs_kept();

  if (config_.eval.evaluates()) {
    std::vector<int64_t> images =
        data_.list().of_split(eval_split(config_.eval, data_.list()));
    result.eval_images = static_cast<int64_t>(images.size());
    images.resize(
        std::min(images.size(), static_cast<size_t>(2 * config_.eval.batch)));
    const Timer timer;
    embed_images(images);
    result.eval_seconds = timer.seconds() *
                          static_cast<double>(result.eval_images) /
                          static_cast<double>(images.size());
    result.evaluations = evaluations_of(
        config_.eval,
        (result.steps + result.steps_an_epoch - 1) / result.steps_an_epoch);
  }
  result.seconds +=
      static_cast<double>(result.steps) * result.step.phases.seconds() +
      static_cast<double>(result.evaluations) * result.eval_seconds;
  if (tester_) {  // the best network, at the end
    const auto images = data_.list().of_split(tester_->split()).size();
    result.seconds += result.eval_seconds * static_cast<double>(images) /
                      static_cast<double>(result.eval_images);
  }
  return result;
}

}  // namespace kith
