#include "kith/train/train_options.h"

#include <algorithm>
#include <thread>

#include "kith/eval/protocol.h"

namespace kith {

void TrainOptions::describe(OptionSet& set) {
  set.add("epochs", epochs,
          "Passes of the sampler over the data, after train.head_epochs.")
      .range(1);
  set.add("seed", seed, "The seed of everything random.").range(0);
  set.add("clip_norm", clip_norm,
          "Gradients are scaled down to this joint L2 norm; 0: never.")
      .range(0);
  set.add("workers", workers, "Threads that decode images; 0: one per core.")
      .range(0, 1024);
  set.add("prefetch", prefetch, "Batches decoded ahead.").range(0, 1024);
  set.add("checkpoint_steps", checkpoint_steps,
          "A checkpoint after this many steps; 0: only after each epoch.")
      .range(0);
  set.add("keep_every", keep_every,
          "The weights are kept after every n-th epoch, besides the last and "
          "the best, with n this number; 0: no others.")
      .range(0);
  set.add("sub_batch", sub_batch,
          "Images that go through the network at a time; the loss still sees "
          "the whole batch. 0: the batch.")
      .range(0);
  set.add("keep_graphs", keep_graphs,
          "Sub-batches that are computed once instead of twice: as many as "
          "memory allows, none, or all.")
      .choices({"auto", "none", "all"});
  set.add("replay", replay,
          "Which batches start the network's passes as a whole, recorded once "
          "(CUDA graphs): small ones of one sub-batch on a GPU (auto), none, "
          "or all. No number of a run depends on it.")
      .choices({"auto", "none", "all"});
  set.add("lanes", lanes,
          "The arithmetic of a step is that of this many lanes, whatever the "
          "number of ranks: any that divides it gives the same bits. 0: one "
          "lane a rank.")
      .range(0, 4096);
  set.add("head_epochs", head_epochs,
          "This many epochs come before train.epochs and the schedule: the "
          "backbone stays as it is, all else trains at the full rate.")
      .range(0);
  set.add("stop_epoch", stop_epoch,
          "Training ends after this epoch, counted from the first of all, the "
          "schedule unchanged; 0: after the last.")
      .range(0);
  set.add("steps", steps,
          "Training ends after this many steps, the schedule unchanged; 0: "
          "after the last epoch.")
      .range(0);
  set.add("patience", patience,
          "Training ends early when eval.best has not become better for this "
          "many epochs; 0: never. Needs eval.every.")
      .range(0);
  set.add("validation", validation,
          "This share of the training classes, the last in order, validates: "
          "the best epoch is chosen there, then all classes are trained on for "
          "as long. 0: no selection.")
      .range(0, 0.9);
  set.add("final", final,
          "After the best epoch was chosen by train.validation, train on all "
          "classes; false: only choose.");
  set.add("folds", folds,
          "The training classes, in order, are divided into this many folds; "
          "one validates, the others are trained on, and the best checkpoint "
          "is kept. 0: none.")
      .range(0, 100);
  set.add("fold", fold, "The fold that validates, from 1.").range(1, 100);
  set.add("init_from", init_from,
          "A run or checkpoint whose weights training starts from.");
  set.add("freeze", freeze,
          "Parameters that stay as they are, by their names in checkpoints: "
          "patterns such as backbone.layer1 or backbone.*.bias, where * is any "
          "characters and ? one. Batch norm among them keeps its statistics.");
  set.add("ema", ema,
          "Decay of a moving average of the weights, which is evaluated and "
          "kept in place of the last ones, such as 0.999; 0: none.")
      .range(0, 0.999999999);
  set.add("ema_warmup", ema_warmup,
          "After step t the decay is at most (1 + t) / (10 + t), so that the "
          "average soon leaves the start behind.");
  set.add("cache_mb", cache_mb,
          "Decoded images are kept in memory, up to this many MB.")
      .range(0);
  set.add("cached_features", cached_features,
          "Only the head is trained, behind its pooling, on features that the "
          "backbone computes once: of this many augmented views of each "
          "training image; 1: of the image as for testing. 0: the whole "
          "network is trained.")
      .range(0, 1024);
  set.add("memory", memory,
          "Cross-batch memory: losses on rows of similarities also compare "
          "with this many embeddings of past batches. 0: none.")
      .range(0, 1 << 24);
  set.add("memory_after", memory_after,
          "In this many first epochs the memory is only filled.")
      .range(0);
  set.add("mixup", mixup,
          "ManifoldMixup: alpha of the Beta distribution that the share of "
          "each picture's hidden activations is drawn from (2 in the study). "
          "0: none.")
      .range(0, 1000);
  set.add(
         "tune", tune,
         "On a GPU each convolution tries this many algorithms at the first "
         "step and keeps the fastest; 0: takes the one expected to be fastest.")
      .range(0, 100);
}

void TrainOptions::check_ranks(int64_t ranks) const {
  if (lanes % ranks == 0) return;
  throw ConfigError("'train.lanes' is " + std::to_string(lanes) +
                    ", but there are " + std::to_string(ranks) +
                    " ranks: every rank has the same number of lanes; take a "
                    "number of ranks that divides it, or 0 for one lane a "
                    "rank");
}

int64_t TrainOptions::last_epoch() const {
  const int64_t all = head_epochs + epochs;
  return stop_epoch > 0 ? std::min(stop_epoch, all) : all;
}

const char* TrainOptions::end_key() const {
  if (steps > 0) return "train.steps";
  return stop_epoch > 0 && stop_epoch < head_epochs + epochs
             ? "train.stop_epoch"
             : "train.epochs";
}

void EvalOptions::describe(OptionSet& set) {
  set.add("protocol", protocol,
          "Who is searched among whom; absent: the one that the data set is "
          "published with, or standard.")
      .choices(protocol_registry().names());
  set.add("split", split,
          "Split that is evaluated and chosen on. auto: if the data have "
          "validation images, these, and at the end of training the best "
          "checkpoint once on test; else test. none: training has no "
          "evaluation, as for data that is tested elsewhere.")
      .choices({"auto", "test", "validation", "train", "none"});
  set.add("metrics", metrics,
          "Metrics, such as recall_any@1,10 or map_at_r; none: those that the "
          "protocol or the data set is published with.");
  set.add("best", best,
          "Metric that picks the best checkpoint; absent: recall_any@1 if it "
          "is among the metrics, or else the first that can be compared.");
  set.add("every", every, "Evaluate after this many epochs; 0: at the end.")
      .range(0);
  set.add("before", before,
          "The network is evaluated before training too, at epoch 0, which "
          "the others are compared with; if no epoch is better, it is the "
          "best.");
  set.add("batch", batch, "Images embedded at a time.").range(1);
  set.add("rerank", rerank,
          "What kith eval re-ranks by and scores again, beside the usual "
          "numbers: names of kith list rerankers, each with its options, as in "
          "'k_reciprocal:k1=20,k2=6', one after the other.");
  descriptor.describe(set);
}

void LogOptions::describe(OptionSet& set) {
  set.add("every", every, "Steps between two lines of the log.").range(1);
  set.add("examples", examples,
          "Queries in the picture of what is found that TensorBoard shows of "
          "each evaluation; 0: no picture.")
      .range(0, 100)
      .was("gallery");
}

Split eval_split(const EvalOptions& options, const ImageList& list) {
  return evaluated_split(options.evaluates() ? options.split : "auto", list);
}

EvaluatorOptions evaluator_options(const EvalOptions& options,
                                   int64_t workers) {
  EvaluatorOptions evaluator;
  evaluator.protocol = options.protocol;
  evaluator.split = options.evaluates() ? options.split : "auto";
  evaluator.metrics = options.metrics;
  evaluator.embed.batch = options.batch;
  evaluator.embed.loader = {worker_count(workers), 2};
  evaluator.embed.descriptor = options.descriptor;
  return evaluator;
}

int64_t worker_count(int64_t workers) {
  return workers > 0
             ? workers
             : std::max<int64_t>(1, std::thread::hardware_concurrency());
}

}  // namespace kith
