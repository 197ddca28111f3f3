// How a trainer tests its network, and what it keeps of that.

#include <cmath>

#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/eval/eval_json.h"
#include "kith/ops/upload.h"
#include "kith/train/eval_table.h"
#include "kith/train/run_state.h"
#include "kith/train/trainer.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

EmbedOptions Trainer::embed_options() const {
  LoaderOptions loader{worker_count(config_.train.workers),
                       config_.train.prefetch};
  if (device_.is_cuda()) loader.allocate = page_locked;
  return {config_.eval.batch, loader, cache_.get(), config_.eval.descriptor};
}

EmbeddedSplit Trainer::embed_now() {
  start_weights();
  return embed_split(*net_, data_, eval_split(config_.eval, data_.list()),
                     *protocol_, embed_options(), progress_);
}

EvalResult Trainer::evaluate_now() {
  return evaluate_split(embed_now(), parse_metrics(config_.eval.metrics));
}

EvalResult Trainer::record_evaluation(Journal& journal) {
  const Timer timer;
  Evaluation now;
  now.epoch = state_->epoch;
  now.step = state_->step;
  now.split = embed_now();
  now.result = evaluate_split(now.split, parse_metrics(config_.eval.metrics));
  now.seconds = timer.seconds();
  const std::string json = eval_json(now.result);
  journal.write(now, json);
  Json point = {{"epoch", state_->epoch}, {"step", state_->step}};
  point.update(Json::parse(json));
  state_->history.push_back(point);
  const std::string title = now.step == 0
                                ? "before training"
                                : "after epoch " + std::to_string(now.epoch) +
                                      ", step " + std::to_string(now.step);
  log_info(eval_table(title, now.result, state_->history));
  return now.result;
}

/// The evaluation that the history ends with.
void Trainer::keep_if_best(const EvalResult& result) {
  const double value = result.at(config_.eval.best);
  // An undefined value is null from the start, as it is in a checkpoint:
  // otherwise a resumed run would compare another way.
  const Json known = std::isnan(value) ? Json() : Json(value);
  if (state_->best.is_null() || state_->best.at("value") < known) {
    state_->best = {{"metric", config_.eval.best},
                    {"value", known},
                    {"epoch", state_->epoch},
                    {"step", state_->step}};
    save("best", /*with_optimizer=*/false);
  }
}

void Trainer::write_metrics() const {
  const std::string split =
      config_.eval.evaluates()
          ? split_name(eval_split(config_.eval, data_.list()))
          : config_.eval.split;
  Json best = state_->best;
  if (best.is_object()) best["chosen_on"] = split;
  const Json json = {
      {"protocol", config_.eval.protocol},
      {"split", split},
      {"last", state_->history.empty() ? Json() : state_->history.back()},
      {"best", best},
      {"history", state_->history}};
  write_file_atomically(folder_ + "/metrics.json", json.dump(2) + "\n");
}

}  // namespace kith
