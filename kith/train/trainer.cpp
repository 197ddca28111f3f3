#include "kith/train/trainer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/number_text.h"
#include "kith/core/timer.h"
#include "kith/data/cache.h"
#include "kith/models/shared_norm.h"
#include "kith/ops/kept_memory.h"
#include "kith/ops/upload.h"
#include "kith/train/check_training.h"
#include "kith/train/eval_table.h"
#include "kith/train/feature_bank.h"
#include "kith/train/final_test.h"
#include "kith/train/gradient_watch.h"
#include "kith/train/parameter_groups.h"
#include "kith/train/run_book.h"
#include "kith/train/start_weights.h"
#include "kith/train/step_totals.h"
#include "kith/train/training_step.h"

namespace kith {
namespace {

/// Steps of an epoch, if training ends within it; 0: all. `before` are done
/// when it begins.
int64_t steps_left(const TrainOptions& train, int64_t before) {
  return train.steps == 0 ? 0 : train.steps - before;
}

/// Ranks on one machine share its cores.
LoaderOptions loader_options(const TrainOptions& train, c10::Device device,
                             const Communicator& ranks) {
  int64_t threads = worker_count(train.workers);
  if (train.workers == 0) {
    threads = std::max<int64_t>(1, threads / ranks.ranks_here());
  }
  LoaderOptions loader{threads, train.prefetch};
  if (device.is_cuda()) loader.allocate = page_locked;
  return loader;
}

/// What the progress of an epoch says beside its count: the loss of the step,
/// at the end the mean of the epoch, the learning rate and the last metric.
class EpochNote {
 public:
  explicit EpochNote(const std::string& metric)
      : metric_(metric.empty() ? "" : "  " + metric) {}

  std::string after(const StepRecord& record, bool is_last) {
    sum_ += record.loss;
    ++steps_;
    const std::string loss =
        is_last
            ? "mean loss " + format_fixed(sum_ / static_cast<double>(steps_), 4)
            : "loss " + format_fixed(record.loss, 4);
    return loss + "  lr " + rate_text(record.lr) + metric_;
  }

 private:
  std::string metric_;
  double sum_ = 0;
  int64_t steps_ = 0;
};

}  // namespace

Trainer::Trainer(const RunConfig& config, const DataSet& data,
                 const std::string& folder, c10::Device device,
                 Progress& progress, Communicator& ranks)
    : Trainer(make_training(config), data, folder, device, progress, ranks) {}

Trainer::Trainer(TrainerParts parts, const DataSet& data,
                 const std::string& folder, c10::Device device,
                 Progress& progress, Communicator& ranks)
    : Trainer(complete_training(std::move(parts), data, folder), data, folder,
              device, progress, ranks) {}

Trainer::Trainer(Training training, const DataSet& data,
                 const std::string& folder, c10::Device device,
                 Progress& progress, Communicator& ranks)
    : config_(std::move(training.config)),
      data_(data),
      split_(std::make_unique<TrainingSplit>(data.list())),
      device_(device),
      progress_(progress),
      ranks_(ranks),
      net_(training.parts.net),
      cache_(std::make_unique<ImageCache>(
          data, (config_.train.cache_mb << 20) / ranks.ranks_here())),
      guard_(std::make_unique<RunGuard>(folder, data)),
      totals_(std::make_unique<StepTotals>()),
      gradients_(std::make_unique<GradientWatch>()) {
  const TrainerParts& parts = training.parts;
  check_has_images(*split_, config_);
  const auto seed = static_cast<uint64_t>(config_.train.seed);
  config_.train.check_ranks(ranks.size());
  const bool in_step = net_->options().bn == "sync" && ranks.size() > 1;
  cut_ = std::make_unique<BatchCut>(config_.train.sub_batch,
                                    net_->input().any_shape() || in_step,
                                    Lanes(config_.train.lanes, ranks), ranks);
  FeedParts feed{*split_, *cache_,
                 parts.sampler.make(split_->sampler_input(seed)), *cut_};
  for (const auto& step : parts.augment) {
    feed.augmentations.push_back(step.make());
  }
  net_->freeze(frozen_patterns(config_.train, *net_));
  check_fit(config_.train, *feed.sampler, *net_, ranks);
  feed.input = net_->input();
  feed.loader = loader_options(config_.train, device, ranks);
  feed.seed = seed;
  if (config_.train.cached_features > 0) {
    make_bank(feed.augmentations, seed);
    feed.loads = false;
  }
  feed_ = std::make_unique<EpochFeed>(std::move(feed), net_->dim());
  schedule_ = parts.schedule.make();
  evaluator_ = std::make_unique<Evaluator>(data, evaluation_by(ranks));
  make_optimizer(parts);
  share_statistics(*net_, ranks);
  step_ = std::make_unique<TrainingStep>(
      StepParts{*net_, *objective_, *optimizer_, *schedule_, *split_, *feed_,
                *guard_, *cut_, bank_.get(), average_.get()},
      config_.train, device);
  const auto others = [this] {
    NamedTensors all = objective_->state();
    for (const auto& entry : feed_->state()) all.push_back(entry);
    return all;
  };
  book_ = std::make_unique<RunBook>(
      BookParts{config_, data, *net_, *optimizer_, *guard_, others,
                [this] { return objective_->parameters(); },
                average_ ? &average_->state() : nullptr, ranks},
      folder);
  check_training(config_, data, evaluator_->protocol(), *net_);
  if (auto options =
          final_test_options(config_, data, evaluator_->protocol())) {
    options->embed.ranks = options->scoring.ranks = &ranks;
    tester_ = std::make_unique<Evaluator>(data, std::move(*options));
  }
}

Trainer::~Trainer() { share_statistics(*net_, alone()); }

EvaluatorOptions Trainer::evaluation_by(Communicator& ranks) const {
  EvaluatorOptions options =
      evaluator_options(config_.eval, config_.train.workers);
  options.embed.ranks = options.scoring.ranks = &ranks;
  return options;
}

/// The network on the device, and what changes its weights.
void Trainer::make_optimizer(const TrainerParts& parts) {
  net_->use_device(device_);
  net_->apply_precision();
  LossContext context;
  context.classes = split_->classes();
  context.dim = net_->dim();
  context.seed = static_cast<uint64_t>(config_.train.seed);
  std::shared_ptr<Loss> made = make_run_loss(
      config_, context,
      [&](const LossContext& part) { return parts.loss.make(part); });
  if (made->classes() > 0 && made->classes() < context.classes) {
    throw ConfigError("the loss has parameters for " +
                      std::to_string(made->classes()) +
                      " classes, but the training images have " +
                      std::to_string(context.classes));
  }
  objective_ = std::make_unique<Objective>(
      config_, std::move(made), parts.miner.make(), net_->dim(), device_);

  tell_trained(*net_, config_);
  NamedTensors parameters = net_->trained();
  const NamedTensors& learnt = objective_->parameters();
  parameters.insert(parameters.end(), learnt.begin(), learnt.end());
  optimizer_ = parts.optimizer.make(parameters);
  set_groups(*net_, objective_->loss(), *optimizer_);
  if (config_.train.ema > 0) {
    average_ = std::make_unique<WeightAverage>(*net_, config_.train.ema,
                                               config_.train.ema_warmup);
    log_info(
        "train.ema: what is evaluated and kept is the moving average of "
        "the weights");
  }
}

/// Weights as they are before the first step. Not in the constructor: a run
/// that is resumed does not need the files.
void Trainer::start_weights() {
  if (std::exchange(has_weights_, true)) return;
  load_start_weights(*net_, config_);
  whiten();
  book_->share_weights();
  if (average_) average_->start();
}

/// For an evaluation, whose caller keeps the weights.
void Trainer::use_average() {
  if (average_) average_->put_into_net();
}

void Trainer::whiten() {
  if (!net_->has_head() || !net_->head().options().whitens() ||
      !config_.train.init_from.empty()) {
    return;
  }
  EmbedOptions options = embed_options();
  options.descriptor = {};
  whiten_head(*net_, data_, split_->images(),
              static_cast<uint64_t>(config_.train.seed), options, progress_);
}

void Trainer::make_bank(const Augmentations& augmentations, uint64_t seed) {
  const TrainOptions& train = config_.train;
  bank_ = std::make_unique<FeatureBank>(
      FeatureBankParts{*net_, *cache_, augmentations, train.cached_features,
                       seed, config_.eval.batch,
                       loader_options(train, device_, ranks_), ranks_},
      std::ssize(data_.list().items));
}

/// Once the weights are there that the backbone keeps.
void Trainer::fill_bank(const std::vector<int64_t>& images) {
  StoppableProgress progress(progress_, stop_while_embedding());
  const Timer timer;
  bank_->fill(images, progress);
  const int64_t views = config_.train.cached_features;
  log_info("only the head trains: features of " +
           std::to_string(images.size()) + " images" +
           (views == 1 ? " as for testing"
                       : ", " + std::to_string(views) + " views of each") +
           " took " + format_fixed(timer.seconds(), 1) + " s and " +
           std::to_string(bank_->bytes() >> 20) + " MB");
}

int64_t Trainer::steps_done() const { return book_->state().step; }

std::optional<BestPoint> Trainer::best_trained() const {
  return best_point(book_->state().history, config_.eval.best,
                    /*with_untrained=*/false);
}

void Trainer::resume(const ResumeOptions& options) {
  if (!book_->resume(options)) return;
  if (book_->has_changed("train.epochs")) tell_schedule();
  has_weights_ = true;
  if (book_->state().step > 0) gradients_->resume();
}

/// A schedule is a function of the epoch and of how many there are.
void Trainer::tell_schedule() const {
  const RunState& state = book_->state();
  const TrainOptions& train = config_.train;
  const int64_t next = state.epoch + (state.step_in_epoch > 0 ? 1 : 0);
  const double rate =
      optimizer_->base_lr() *
      schedule_->factor(
          static_cast<double>(std::max<int64_t>(next - train.head_epochs, 0)),
          static_cast<double>(train.epochs));
  log_info("the schedule goes on over " + std::to_string(train.epochs) +
           " epochs from epoch " + std::to_string(next + 1) +
           " on, where the learning rate is " + rate_text(rate));
}

/// On several ranks, whether one of them was asked to: all stop after the same
/// step.
bool Trainer::is_stop_asked() const {
  const bool here = stop_ != nullptr && *stop_;
  if (ranks_.size() == 1) return here;
  const Tensor all = ranks_.all_gather(torch::full({1}, here ? 1 : 0));
  return all.sum().item<int64_t>() > 0;
}

/// Ranks that embed together cannot stop each for itself.
StopRequest Trainer::stop_while_embedding() const {
  return ranks_.is_alone() ? stop_ : nullptr;
}

/// Keeps what was done and ends the run for now.
void Trainer::stop_here() {
  if (book_->state().step > 0) book_->save_last();
  throw RunStopped(book_->state().step);
}

EvalResult Trainer::run(StopRequest stop) {
  stop_ = stop;
  try {
    return train_to_end();
  } catch (const StopSeen&) {  // while images were embedded
    stop_here();
  }
}

EvalResult Trainer::train_to_end() {
  const KeptMemory kept;
  start_weights();
  const bool evaluates = config_.eval.evaluates();
  const RunState& state = book_->state();
  const bool is_over = book_->is_finished() && !book_->is_evaluation_due();
  if (is_over && !(tester_ && book_->is_test_due())) {
    const bool out_of_patience = book_->ended_by() == "train.patience";
    log_info("the run is finished: " + std::to_string(state.epoch) +
             " epochs, " + std::to_string(state.step) + " steps" +
             (out_of_patience ? "; " + book_->patience_text() : "") +
             "; resumed with a larger " + book_->ended_by() +
             (out_of_patience ? ", or with 0 for none," : "") + " it goes on");
    book_->write_metrics();
    return evaluates ? evaluate_now() : EvalResult();
  }
  book_->begin();
  book_->open_journal();
  if (bank_) fill_bank(split_->images());
  if (state.epoch < config_.train.head_epochs) {
    log_info("epochs: " + std::to_string(config_.train.head_epochs) +
             " of the head and what the loss learns, then " +
             std::to_string(config_.train.epochs) + " of the whole network");
  }
  if (config_.eval.before && state.is_new()) {
    book_->keep_if_best(record_evaluation());
    book_->share_state();
    book_->save_last();
  }
  EvalResult result;
  const auto finish_epoch = [&] {
    if (book_->is_evaluation_due()) {
      result = record_evaluation();
      book_->keep_if_best(result);
      book_->share_state();
    }
    book_->keep_epoch();
    book_->save_last();
  };
  if (book_->is_evaluation_due()) {  // it was stopped before
    finish_epoch();
  } else {
    book_->keep_epoch(/*again=*/false);
  }
  while (!book_->is_finished()) {
    train_epoch();
    if (is_stop_asked()) stop_here();
    finish_epoch();
  }
  book_->tell_end();
  if (tester_ && book_->is_test_due()) {
    record_test();
    book_->save_last();
  }
  book_->write_metrics();
  log_info(totals_->summary());
  if (!ranks_.is_alone()) tell_ranks();
  return is_over && evaluates ? evaluate_now() : result;
}

void Trainer::tell_ranks() const {
  const int64_t steps = totals_->steps();
  std::string text =
      std::to_string(ranks_.size()) + " ranks over " + ranks_.engine();
  if (steps > 0) {
    text += ", each sent about " +
            format_fixed(static_cast<double>(bytes_sent_) / 1e6 /
                             static_cast<double>(steps),
                         2) +
            " MB a step";
  }
  log_info(text);
}

void Trainer::start_progress(const Epoch& epoch) {
  const TrainOptions& train = config_.train;
  const int64_t done = book_->state().step_in_epoch;
  int64_t steps = epoch.steps;
  Progress::Pace pace{"images", static_cast<double>(epoch.batch), done,
                      steps * (train.last_epoch() - epoch.number - 1)};
  if (train.steps > 0) {
    const int64_t left = steps_left(train, book_->state().step);
    steps = std::min(steps, done + left);
    pace.after = std::min(pace.after, left - (steps - done));
  }
  progress_.start("epoch " + std::to_string(epoch.number + 1) + "/" +
                      std::to_string(train.last_epoch()),
                  steps);
  progress_.set_pace(pace);
}

void Trainer::train_epoch() {
  const TrainOptions& train = config_.train;
  RunState& state = book_->state();
  feed_->prepare_pool(state, [this] { return embed_images(split_->images()); });
  Epoch epoch = feed_->open(state.epoch, state.step_in_epoch,
                            steps_left(train, state.step));
  net_->train();
  net_->freeze_backbone(epoch.number < train.head_epochs);
  start_progress(epoch);
  EpochNote note(last_metric_text(state.history, config_.eval.best));
  while (epoch.remaining() > 0) {
    PhaseMeter meter(device_);
    const Batch batch = epoch.next();
    const bool last = epoch.remaining() == 0;
    const int64_t steps = state.step + 1;  // when this one is done
    if (last && epoch.number + 1 < train.last_epoch() && steps != train.steps) {
      // Loads while the last step and an evaluation run.
      feed_->prepare_next(epoch.number + 1, steps_left(train, steps));
    }
    const int64_t sent_before = ranks_.bytes_sent();
    StepRecord record = step_->take(batch, state, epoch.steps, meter);
    bytes_sent_ += ranks_.bytes_sent() - sent_before;
    record.sampler_seconds = std::exchange(epoch.sampler_seconds, 0);
    totals_->add(record);
    gradients_->add(record);
    book_->write(record);
    progress_.advance(state.step_in_epoch, note.after(record, last));
    const int64_t every = train.checkpoint_steps;
    if (is_stop_asked() && !last) {
      progress_.finish();
      stop_here();
    }
    if (every > 0 && state.step % every == 0 && !last) book_->save_last();
  }
  progress_.finish();
  const bool fills_memory =
      train.memory > 0 && epoch.number < train.memory_after;
  if (!fills_memory) gradients_->end_epoch(epoch.number);
  if (state.step_in_epoch < epoch.steps) return;  // train.steps are done
  ++state.epoch;
  state.step_in_epoch = 0;
}

EmbedOptions Trainer::embed_options() {
  EmbedOptions options = evaluator_->embedding();
  options.loader = loader_options(config_.train, device_, ranks_);
  // One that keeps nothing would only bar the GPU from decoding.
  if (config_.train.cache_mb > 0) options.cache = cache_.get();
  options.network = "the network after epoch " +
                    std::to_string(book_->state().epoch) + ", step " +
                    std::to_string(book_->state().step);
  return options;
}

Tensor Trainer::embed_images(const std::vector<int64_t>& images) {
  StoppableProgress progress(progress_, stop_while_embedding());
  if (bank_) return bank_->embed(images, progress);
  return embed(*net_, data_, images, embed_options(), progress);
}

EmbeddedSplit Trainer::embed_now() {
  start_weights();
  std::optional<KeptWeights> last;
  if (average_) last.emplace(*net_);
  use_average();
  StoppableProgress progress(progress_, stop_while_embedding());
  if (bank_ && evaluator_->embedding().descriptor.is_plain()) {
    return bank_->embed(*evaluator_, progress);
  }
  return evaluator_->embed(*net_, embed_options(), progress);
}

EvalResult Trainer::evaluate_now() { return evaluator_->score(embed_now()); }

EvalResult Trainer::record_evaluation() {
  const Timer timer;
  book_->check_weights();
  Evaluation now;
  now.epoch = book_->state().epoch;
  now.step = book_->state().step;
  now.on = split_name(evaluator_->split());
  try {
    now.split = embed_now();
  } catch (const RunError& error) {
    guard_->stop_diverged(error.what());
  }
  now.result = evaluator_->score(now.split);
  now.seconds = timer.seconds();
  book_->write(now);
  return now.result;
}

/// The network is the last again afterwards, also if it is stopped here.
void Trainer::record_test() {
  const Timer timer;
  const BestPoint& best = *book_->state().best;
  Evaluation test;
  test.epoch = best.epoch;
  test.step = best.step;
  test.on = split_name(tester_->split());
  {
    const KeptWeights last(*net_);
    use_average();
    const std::string problem = book_->load_best();
    if (!problem.empty()) {
      log_warning("the test split is not evaluated: " + problem);
      return;
    }
    StoppableProgress progress(progress_, stop_while_embedding());
    EmbedOptions options = embed_options();
    options.network =
        "the best checkpoint, of epoch " + std::to_string(best.epoch);
    test.split = tester_->embed(*net_, options, progress);
  }
  test.result = tester_->score(test.split);
  test.seconds = timer.seconds();
  book_->write_test(test);
}

}  // namespace kith
