#include "kith/train/run_book.h"

#include <cmath>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/run/checkpoint.h"
#include "kith/run/previous_checkpoint.h"
#include "kith/train/eval_table.h"

namespace kith {

RunBook::RunBook(BookParts parts, std::string folder)
    : parts_(std::move(parts)), folder_(std::move(folder)) {}

bool RunBook::is_finished() const {
  const TrainOptions& train = parts_.config.train;
  return state_.epoch == train.last_epoch() ||
         (train.steps > 0 && state_.step >= train.steps);
}

void RunBook::begin() const {
  make_folders(folder_.checkpoints());
  parts_.guard.begin();
  folder_.write_config(parts_.config.tree);
  // For who resumes: an image that is repaired meanwhile must not change the
  // batches.
  if (parts_.data.skips_broken()) {
    write_left_out(folder_.left_out(), parts_.data.left_out());
  }
}

bool RunBook::resume() {
  const std::string path = folder_.checkpoint("last");
  if (path_exists(path)) {
    try {
      resume_from(path);
    } catch (const DataError& error) {
      throw DataError(error.what() + remedy_to_resume(path));
    }
    return true;
  }
  if (path_exists(previous_checkpoint(path))) {
    throw DataError(path + ": is missing" + remedy_to_resume(path));
  }
  log_info("no checkpoint yet: the run starts from the beginning");
  return false;
}

void RunBook::resume_from(const std::string& path) {
  const CheckpointInfo info = read_checkpoint_info(path);
  const std::string changed = first_difference(parts_.config.tree, info.config);
  if (!changed.empty()) {
    throw ConfigError("'" + changed +
                      "' differs from the configuration the run was started "
                      "with (" +
                      folder_.config() + "); resume needs the same");
  }
  load_checkpoint(path,
                  {parts_.net, parts_.others(), &parts_.optimizer.state()});
  state_.load(info.progress, path);
  log_info("resumed after step " + std::to_string(state_.step));
}

void RunBook::open_journal() {
  const int64_t last_step = state_.is_new() ? -1 : state_.step;
  journal_.emplace(
      folder_.path(), last_step, parts_.data,
      RunEventsOptions{parts_.config.log.examples,
                       static_cast<uint64_t>(parts_.config.train.seed)});
}

void RunBook::write(const StepRecord& record) {
  if (record.step % parts_.config.log.every == 0) journal_->write(record);
}

void RunBook::write(const Evaluation& evaluation) {
  journal_->write(evaluation);
  state_.history.push_back(evaluation.point());
  const std::string title =
      evaluation.step == 0 ? "before training"
                           : "after epoch " + std::to_string(evaluation.epoch) +
                                 ", step " + std::to_string(evaluation.step);
  log_info(eval_table(title, evaluation.result, state_.history));
}

void RunBook::keep_if_best(const EvalResult& result) {
  const std::string& metric = parts_.config.eval.best;
  const double value = result.at(metric);
  if (!std::isfinite(value)) {
    log_warning(metric +
                " (eval.best) is not defined for this evaluation: it cannot be "
                "the best");
    return;
  }
  const double best = state_.best ? state_.best->value : NAN;
  if (!is_better(value, best, better_of(metric))) return;
  state_.best = {metric, value, state_.epoch, state_.step};
  check_weights();
  save_checkpoint(folder_.checkpoint("best"), {parts_.net, parts_.others()},
                  parts_.config.tree, "");
}

int64_t RunBook::best_epoch() const {
  return state_.best ? state_.best->epoch : 0;
}

void RunBook::save_last() const {
  check_weights();
  const std::string path = folder_.checkpoint("last");
  keep_previous_checkpoint(path);
  save_checkpoint(path,
                  {parts_.net, parts_.others(), &parts_.optimizer.state()},
                  parts_.config.tree, state_.dump());
}

void RunBook::check_weights() const {
  NamedTensors all = parts_.net.state();
  const NamedTensors learnt = parts_.learnt();
  all.insert(all.end(), learnt.begin(), learnt.end());
  parts_.guard.check_weights(all, state_.step);
}

void RunBook::write_metrics() const {
  const EvalOptions& eval = parts_.config.eval;
  const std::string split =
      eval.evaluates() ? split_name(eval_split(eval, parts_.data.list()))
                       : eval.split;
  RunMetrics metrics{eval.protocol, split};
  metrics.best = state_.best;
  metrics.history = state_.history;
  metrics.left_out = parts_.data.left_out();
  write_run_metrics(folder_.metrics(), metrics);
}

}  // namespace kith
