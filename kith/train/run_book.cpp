#include "kith/train/run_book.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/number_text.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/eval/metric_name.h"
#include "kith/run/checkpoint.h"
#include "kith/run/previous_checkpoint.h"
#include "kith/train/eval_table.h"

namespace kith {
namespace {

/// The configuration in a checkpoint, with the defaults of options that the
/// kith that wrote it did not have yet.
ConfigNode with_new_options(const ConfigNode& stored) {
  try {
    return complete_config(stored).tree;
  } catch (const ConfigError&) {  // it names parts of a user's own
    return stored;
  }
}

/// ConfigError for a change of what two trainings must share: the one that
/// chooses the epoch on held-out classes and the one that follows it.
void check_selection(const RunChange& change, const TrainOptions& train) {
  if (train.validation == 0 || !train.final) return;
  if (!moves_the_end(change) && change.key != "optimizer.lr") return;
  throw ConfigError(
      "'" + change.key +
      "' of a run that chooses its epoch on held-out classes "
      "(train.validation) stays " +
      change.before +
      ": the training on all classes follows the schedule of the one that "
      "chose. Start a new run, or extend the one on all classes once it is "
      "finished");
}

constexpr const char* kPatience = "train.patience";

/// Whether a change is one of what is trained or measured, which an evaluation
/// made before would not fit.
bool needs_a_new_start(const RunChange& change) {
  return !moves_the_end(change) && !keeps_the_numbers(change);
}

/// "61.20% (epoch 7)"
std::string best_text(const BestPoint& best) {
  const auto metrics = parse_metrics({MetricName::parse(best.metric).metric()});
  return metric_text(best.value, metrics.front().metric->is_share()) +
         " (epoch " + std::to_string(best.epoch) + ")";
}

/// All ranks take the first one's: one message for each type.
void share(Communicator& ranks, const NamedTensors& tensors) {
  if (ranks.is_alone()) return;
  const torch::NoGradGuard no_grad;
  std::map<at::ScalarType, std::vector<Tensor>> by_type;
  for (const auto& [name, tensor] : tensors) {
    by_type[tensor.scalar_type()].push_back(tensor);
  }
  for (auto& [type, some] : by_type) {
    std::vector<Tensor> flat;
    for (const Tensor& tensor : some) flat.push_back(tensor.flatten());
    Tensor all = torch::cat(flat);
    ranks.broadcast(all);
    int64_t begin = 0;
    for (Tensor& tensor : some) {
      tensor.copy_(all.narrow(0, begin, tensor.numel()).view_as(tensor));
      begin += tensor.numel();
    }
  }
}

[[noreturn]] void throw_is_beyond(const RunChange& change,
                                  const RunState& state) {
  throw ConfigError("'" + change.key + "' is " + change.after +
                    ", but the run has already done " +
                    std::to_string(state.epoch) + " epochs, " +
                    std::to_string(state.step) +
                    " steps; a run that goes on needs more");
}

}  // namespace

RunBook::RunBook(BookParts parts, std::string folder)
    : parts_(std::move(parts)), folder_(std::move(folder)) {}

std::string RunBook::ended_by() const {
  const TrainOptions& train = parts_.config.train;
  if (state_.epoch >= train.last_epoch() ||
      (train.steps > 0 && state_.step >= train.steps)) {
    return train.end_key();
  }
  if (train.patience == 0) return "";
  const std::optional<BestPoint> best = best_epoch();
  if (!best) return "";
  // Only an evaluation ends a run, and after it no step was taken.
  const RunPoint& last = state_.history.back();
  const bool is_out =
      last.step == state_.step && last.epoch - best->epoch >= train.patience;
  return is_out ? kPatience : "";
}

/// The best that training has reached. So a run is as long whether or not it is
/// evaluated before.
std::optional<BestPoint> RunBook::best_epoch() const {
  if (!state_.best || state_.best->step > 0) return state_.best;
  return best_point(state_.history, state_.best->metric,
                    /*with_untrained=*/false);
}

std::string RunBook::patience_text() const {
  const BestPoint best = best_epoch().value();
  return best.metric + " has not been better than " + best_text(best) +
         " for " + std::to_string(state_.epoch - best.epoch) +
         " epochs (train.patience)";
}

bool RunBook::is_evaluation_due() const {
  const EvalOptions& eval = parts_.config.eval;
  if (!eval.evaluates() || state_.step == 0) return false;
  if (!state_.history.empty() && state_.history.back().step == state_.step) {
    return false;
  }
  return is_finished() || (eval.every > 0 && state_.step_in_epoch == 0 &&
                           state_.epoch % eval.every == 0);
}

void RunBook::begin() {
  if (!writes()) return;
  make_folders(folder_.checkpoints());
  parts_.guard.begin();
  folder_.write_config(parts_.config.tree);
  // For who resumes: an image that is repaired meanwhile must not change the
  // batches.
  if (parts_.data.skips_broken()) {
    write_left_out(folder_.left_out(), parts_.data.left_out());
  }
  // Of a run that is extended: it is not finished any more.
  remove_file(folder_.metrics());
  if (state_.changes.empty()) return;
  // After config.yaml: who is killed in between finds the changes once more,
  // and after it the checkpoint has them.
  if (state_.changes.size() > known_changes_) save_last();
  write_run_changes(folder_.changes(), state_.changes);
}

bool RunBook::resume(const ResumeOptions& options) {
  Communicator& ranks = parts_.ranks;
  if (ranks.is_alone()) return resume_here(options);
  const bool resumed = writes() && resume_here(options);
  const std::string state = ranks.broadcast(resumed ? state_.dump() : "");
  if (state.empty()) return false;
  const auto known = ranks.broadcast(std::to_string(known_changes_));
  if (!writes()) {
    state_.load(state, "rank 0");
    known_changes_ = std::stoul(known);
  }
  NamedTensors all = parts_.net.state();
  for (const auto& entry : parts_.others()) all.push_back(entry);
  for (const auto& entry : parts_.optimizer.state()) all.push_back(entry);
  if (parts_.average != nullptr) {
    for (const auto& entry : *parts_.average) all.push_back(entry);
  }
  share(ranks, all);
  return true;
}

CheckpointParts RunBook::kept(bool whole) const {
  return {parts_.net, parts_.others(),
          whole ? &parts_.optimizer.state() : nullptr, parts_.average};
}

void RunBook::share_weights() { share(parts_.ranks, parts_.net.state()); }

void RunBook::share_state() {
  Communicator& ranks = parts_.ranks;
  if (ranks.is_alone()) return;
  const std::string state = ranks.broadcast(state_.dump());
  if (!writes()) state_.load(state, "rank 0");
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> sums;
  NamedTensors weights = parts_.net.weights();
  const NamedTensors learnt = parts_.learnt();
  weights.insert(weights.end(), learnt.begin(), learnt.end());
  for (const auto& [name, weight] : weights) {
    sums.push_back(weight.to(at::kDouble).square().sum());
  }
  const Tensor mine = torch::stack(sums).unsqueeze(0).cpu();
  const Tensor all = ranks.all_gather(mine);
  for (int64_t rank = 1; rank < ranks.size(); ++rank) {
    const Tensor differs = (all[rank] != all[0]).nonzero();
    if (differs.numel() == 0) continue;
    throw RunError(
        "the weights of rank " + std::to_string(rank) +
        " are no longer those of rank 0 after step " +
        std::to_string(state_.step) + ", the first of them '" +
        weights[static_cast<size_t>(differs[0][0].item<int64_t>())].first +
        "': ranks must run the same kith and LibTorch on processors of one "
        "kind; resume from the last checkpoint on such");
  }
}

bool RunBook::resume_here(const ResumeOptions& options) {
  const std::string path = folder_.checkpoint("last");
  if (path_exists(path)) {
    try {
      if (!resume_from(path, options)) return false;
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

/// False if there is nothing to go on with but an evaluation of the network
/// before training, and another configuration.
bool RunBook::resume_from(const std::string& path,
                          const ResumeOptions& options) {
  const CheckpointInfo info = read_checkpoint_info(path);
  std::vector<RunChange> changes =
      config_changes(with_new_options(info.config), parts_.config.tree);
  RunState stored;
  stored.load(info.progress, path);
  if (stored.step == 0 &&
      std::any_of(changes.begin(), changes.end(), needs_a_new_start)) {
    log_info("no step was taken yet: the run starts from the beginning");
    return false;
  }
  for (const RunChange& change : changes) {
    check_may_change(change, options, folder_.path());
    check_selection(change, parts_.config.train);
  }
  load_checkpoint(path, kept(/*whole=*/true));
  state_ = std::move(stored);
  known_changes_ = state_.changes.size();
  log_info("resumed after step " + std::to_string(state_.step));
  const int64_t threads = torch::get_num_threads();
  if (state_.threads != threads) {
    changes.push_back({0, 0, "threads", std::to_string(state_.threads),
                       std::to_string(threads)});
  }
  accept(std::move(changes));
  return true;
}

/// Notes what the run goes on with; ConfigError if it cannot end where it now
/// should.
void RunBook::accept(std::vector<RunChange> changes) {
  std::vector<std::string> texts;
  const bool is_over = is_finished() && !is_evaluation_due();
  const std::string ended = ended_by();
  for (RunChange& change : changes) {
    if (ended == kPatience && moves_the_end(change)) {
      throw ConfigError("'" + change.key + "' is " + change.after +
                        ", but the run has ended: " + patience_text() +
                        ". To go on it needs a larger 'train.patience', or 0 "
                        "for none");
    }
    if (!ended.empty() && moves_the_end(change) && change.key != kPatience) {
      throw_is_beyond(change, state_);
    }
    if (is_over) {
      if (keeps_the_numbers(change)) continue;
      log_warning("the run is finished: " + change.key + " stays " +
                  change.before + " in it");
      continue;
    }
    change.epoch = state_.epoch;
    change.step = state_.step;
    texts.push_back(
        change.key + " " + change.after + " (was " + change.before + ")" +
        (change.key == "threads" ? ", so results can differ in the last digits"
                                 : ""));
    state_.changes.push_back(std::move(change));
  }
  if (!texts.empty()) log_info("the run goes on with " + join(texts));
  if (has_changed("eval.best") && state_.best) {
    log_info("the best checkpoint was chosen by " + state_.best->metric +
             " and is chosen anew, by evaluations from now on");
    state_.best.reset();
  }
}

bool RunBook::has_changed(const std::string& key) const {
  for (size_t i = known_changes_; i < state_.changes.size(); ++i) {
    if (state_.changes[i].key == key) return true;
  }
  return false;
}

void RunBook::open_journal() {
  if (!writes()) return;
  const Journal::Last last{
      state_.is_new() ? -1 : state_.step,
      state_.history.empty() ? -1 : state_.history.back().step,
      state_.test ? state_.test->after : -1};
  journal_.emplace(
      folder_.path(), last, parts_.data,
      RunEventsOptions{parts_.config.log.examples,
                       static_cast<uint64_t>(parts_.config.train.seed)});
}

void RunBook::write(const StepRecord& record) {
  if (journal_ && record.step % parts_.config.log.every == 0) {
    journal_->write(record);
  }
}

void RunBook::write(const Evaluation& evaluation) {
  if (journal_) journal_->write(evaluation);
  state_.history.push_back(evaluation.point());
  const std::string title =
      evaluation.step == 0 ? "before training"
                           : "after epoch " + std::to_string(evaluation.epoch) +
                                 ", step " + std::to_string(evaluation.step);
  log_info(eval_table(title + ": " + evaluation.on + " split, protocol " +
                          parts_.config.eval.protocol,
                      evaluation.result, state_.history));
}

void RunBook::write_test(const Evaluation& evaluation) {
  state_.test = TestPoint{evaluation.epoch, evaluation.step, state_.step,
                          stored(evaluation.result)};
  if (journal_) journal_->write_test(evaluation, *state_.test);
  log_info(eval_table(
      "the best checkpoint (epoch " + std::to_string(evaluation.epoch) + "): " +
          evaluation.on + " split, protocol " + parts_.config.eval.protocol,
      evaluation.result, {}));
}

bool RunBook::is_test_due() const {
  if (!is_finished() || is_evaluation_due() || !state_.best) return false;
  return !state_.test || state_.test->after != state_.step;
}

bool RunBook::follows_a_choice() const {
  return is_folder(folder_.selection().path());
}

void RunBook::keep_if_best(const EvalResult& result) {
  // What training gives is asked for: of a fold, and of an epoch that held-out
  // classes chose, which the test split has no say in.
  const bool wants_trained =
      parts_.config.train.folds > 0 || follows_a_choice();
  if (state_.step == 0 && wants_trained) return;
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
  if (!writes()) return;
  save_checkpoint(folder_.checkpoint("best"), kept(/*whole=*/false),
                  parts_.config.tree, state_.dump_point());
}

std::string RunBook::load_best() const {
  if (state_.best->step == state_.step) return "";
  std::string problem;
  if (writes()) {
    try {
      load_checkpoint(folder_.checkpoint("best"), {parts_.net});
    } catch (const DataError& error) {
      problem = error.what();
    }
  }
  problem = parts_.ranks.broadcast(problem);
  if (problem.empty()) share(parts_.ranks, parts_.net.state());
  return problem;
}

void RunBook::keep_epoch(bool again) const {
  const int64_t every = parts_.config.train.keep_every;
  if (!writes() || every == 0 || state_.step == 0 || state_.step_in_epoch > 0 ||
      state_.epoch % every != 0) {
    return;
  }
  const std::string path = folder_.checkpoint(state_.epoch);
  if (!again && path_exists(path)) return;
  check_weights();
  save_checkpoint(path, kept(/*whole=*/false), parts_.config.tree,
                  state_.dump_point());
}

void RunBook::tell_end() const {
  if (ended_by() == kPatience) {
    log_info("ended after epoch " + std::to_string(state_.epoch) + ": " +
             patience_text());
  }
  if (state_.best && state_.best->epoch == 0 && state_.history.size() > 1) {
    log_warning("no epoch is better than the network before training, " +
                state_.best->metric + " " + best_text(*state_.best) +
                ": that is the best checkpoint");
  }
}

void RunBook::save_last() const {
  if (!writes()) return;
  check_weights();
  const std::string path = folder_.checkpoint("last");
  keep_previous_checkpoint(path);
  save_checkpoint(path, kept(/*whole=*/true), parts_.config.tree,
                  state_.dump());
}

void RunBook::check_weights() const {
  NamedTensors all = parts_.net.state();
  const NamedTensors learnt = parts_.learnt();
  all.insert(all.end(), learnt.begin(), learnt.end());
  parts_.guard.check_weights(all, state_.step);
}

/// The split that the epoch was chosen on: where there was no choice, nothing.
std::string RunBook::chosen_on(const std::string& split) const {
  if (follows_a_choice()) return "validation";
  const bool is_untrained = state_.best && state_.best->step == 0;
  const auto trained =
      std::count_if(state_.history.begin(), state_.history.end(),
                    [](const RunPoint& point) { return point.step > 0; });
  return trained > (is_untrained ? 0 : 1) ? split : "nothing";
}

void RunBook::write_metrics() const {
  if (!writes()) return;
  const EvalOptions& eval = parts_.config.eval;
  const std::string split =
      eval.evaluates() ? split_name(eval_split(eval, parts_.data.list()))
                       : eval.split;
  RunMetrics metrics{eval.protocol, split};
  metrics.best = state_.best;
  metrics.chosen_on = chosen_on(split);
  metrics.ended_by = ended_by();
  metrics.test = state_.test;
  metrics.history = state_.history;
  metrics.left_out = parts_.data.left_out();
  write_run_metrics(folder_.metrics(), metrics);
}

}  // namespace kith
