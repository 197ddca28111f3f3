#include <algorithm>

#include "kith/core/timer.h"
#include "kith/train/run_state.h"
#include "kith/train/trainer.h"

namespace kith {

DryRun Trainer::dry_run() {
  constexpr int64_t kSteps = 4;  // the first ones fill caches and queues
  start_weights();
  prepare_pool();
  const Epoch epoch = open_epoch(0, 0, kSteps);
  DryRun result;
  result.steps_an_epoch = epoch.steps;
  result.steps = epoch.steps * config_.train.last_epoch();
  if (config_.train.steps > 0) {
    result.steps = std::min(result.steps, config_.train.steps);
  }
  net_->train();
  while (epoch.loader->remaining() > 0) {
    PhaseMeter meter(device_);
    result.step = step(epoch.loader->next(), epoch.steps, meter);
  }
  result.sub_batch = multistage_->sub_batch();
  result.chunks = multistage_->chunks();
  result.graphs_kept = multistage_->graphs_kept();

  if (config_.eval.evaluates()) estimate_evaluations(result);
  result.seconds =
      static_cast<double>(result.steps) * result.step.phases.seconds() +
      static_cast<double>(result.evaluations) * result.eval_seconds;
  return result;
}

void Trainer::estimate_evaluations(DryRun& result) {
  const Split split = eval_split(config_.eval, data_.list());
  std::vector<int64_t> images = data_.list().of_split(split);
  result.eval_images = static_cast<int64_t>(images.size());
  images.resize(
      std::min(images.size(), static_cast<size_t>(2 * config_.eval.batch)));
  const Timer timer;
  embed(*net_, data_, images, embed_options(), progress_);
  result.eval_seconds = timer.seconds() *
                        static_cast<double>(result.eval_images) /
                        static_cast<double>(images.size());
  const int64_t every = config_.eval.every;
  const int64_t epochs =
      (result.steps + result.steps_an_epoch - 1) / result.steps_an_epoch;
  result.evaluations =
      every == 0 ? 1 : epochs / every + (epochs % every == 0 ? 0 : 1);
  if (config_.eval.before) ++result.evaluations;
}

}  // namespace kith
