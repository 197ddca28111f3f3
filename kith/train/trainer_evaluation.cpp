// How a trainer tests its network, and what it keeps of that.

#include <cmath>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/eval/eval_json.h"
#include "kith/ops/finite.h"
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
  EmbedOptions options{config_.eval.batch, loader, cache_.get(),
                       config_.eval.descriptor};
  options.network = "the network after epoch " + std::to_string(state_->epoch) +
                    ", step " + std::to_string(state_->step);
  return options;
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
  check_weights();
  Evaluation now;
  now.epoch = state_->epoch;
  now.step = state_->step;
  try {
    now.split = embed_now();
  } catch (const RunError& error) {
    stop_diverged(error.what());
  }
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
  if (!std::isfinite(value)) {
    log_warning(config_.eval.best +
                " (eval.best) is not defined for this evaluation: it cannot be "
                "the best");
    return;
  }
  const Json* known =
      state_->best.is_null() ? nullptr : &state_->best.at("value");
  const double best =
      known == nullptr || known->is_null() ? NAN : known->get<double>();
  if (!is_better(value, best, better_of(config_.eval.best))) return;
  state_->best = {{"metric", config_.eval.best},
                  {"value", value},
                  {"epoch", state_->epoch},
                  {"step", state_->step}};
  save("best", /*with_optimizer=*/false);
}

/// Before weights are evaluated or saved: the last step may have broken them,
/// and running statistics may be broken where no gradient is.
void Trainer::check_weights() const {
  NamedTensors all = net_->state();
  const NamedTensors& learnt = objective_->parameters();
  all.insert(all.end(), learnt.begin(), learnt.end());
  const std::string bad = first_bad_tensor(all);
  if (bad.empty()) return;
  stop_diverged("NaN or infinity in " + bad + " after step " +
                std::to_string(state_->step) +
                ": these weights are not saved, checkpoints of before stay. A "
                "smaller optimizer.lr or train.clip_norm often helps.");
}

/// Ends a run that would go the same way again; its folder says so.
void Trainer::stop_diverged(const std::string& why) const {
  write_file_atomically(folder_ + "/diverged.txt", why + "\n");
  throw RunError(why);
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
