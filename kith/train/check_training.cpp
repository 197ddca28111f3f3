#include "kith/train/check_training.h"

#include <algorithm>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/index/reranker.h"
#include "kith/train/multistage.h"

namespace kith {
namespace {

/// Says of a patience that it cannot end the run.
void tell_patience(const TrainOptions& train) {
  if (train.patience == 0 || train.patience < train.last_epoch()) return;
  log_info("train.patience is " + std::to_string(train.patience) +
           ", so it does not end a run of " +
           std::to_string(train.last_epoch()) + " epochs");
}

/// The backbone sees each image once, before training.
void check_cached_features(const TrainOptions& train, const EmbeddingNet& net) {
  const auto refuse = [](const std::string& key, const std::string& why,
                         const std::string& remedy) {
    throw ConfigError("'train.cached_features' trains the head alone, and " +
                      key + " " + why + ": " + remedy);
  };
  if (!net.has_head()) {
    refuse("a network of your own", "has none that kith knows of",
           "set it to 0");
  }
  if (train.mixup > 0) {
    refuse("'train.mixup'", "mixes within the backbone", "set one to 0");
  }
  if (train.head_epochs > 0) {
    refuse("'train.head_epochs'", "are followed by epochs of the whole network",
           "set one to 0");
  }
  if (net.options().lora.is_on()) {
    refuse("'model.lora'", "adapts the backbone", "set one to 0");
  }
  if (net.input().any_shape()) {
    refuse("'model.input.long_side'", "gives pictures of many shapes",
           "set one to 0");
  }
}

bool trains_head(const EmbeddingNet& net) {
  const NamedTensors trained = net.trained();
  return std::any_of(trained.begin(), trained.end(), [](const auto& entry) {
    return entry.first.starts_with("head.");
  });
}

}  // namespace

void check_has_images(const TrainingSplit& split, const RunConfig& config) {
  if (!split.images().empty()) return;
  const ConfigNode* path = config.section("data").find("path");
  throw DataError(
      "the train split has no images" +
      (path == nullptr ? "" : " (data.path: " + path->scalar + ")"));
}

void check_fit(const TrainOptions& train, const Sampler& sampler,
               const EmbeddingNet& net, const Communicator& ranks) {
  if (net.options().bn == "sync" && train.lanes > 0) {
    throw ConfigError(
        "'model.bn' is sync, so statistics are those of all ranks together and "
        "depend on their number, and with 'train.lanes' nothing does: set it "
        "to 0, or 'model.bn' to train or stats");
  }
  if (net.options().bn == "sync" && net.input().any_shape() &&
      ranks.size() > 1) {
    throw ConfigError(
        "'model.bn' is sync, so ranks run their chunks in step, and with "
        "'model.input.long_side' they have different numbers of them: set "
        "'model.bn' to train or stats");
  }
  if (sampler.wants_pool() && train.mixup > 0) {
    throw ConfigError(
        "'train.mixup' gives embeddings of mixed pictures, and this sampler "
        "chooses by those of single ones: use one or the other");
  }
  if (net.input().any_shape() && train.mixup > 0) {
    throw ConfigError(
        "'train.mixup' mixes pictures of one size, and with "
        "'model.input.long_side' their sizes differ: use one or the other");
  }
  if (train.cached_features > 0) check_cached_features(train, net);
  if (!net.has_head() && train.head_epochs > 0) {
    throw ConfigError(
        "'train.head_epochs' trains the head alone, and a network of your own "
        "has none that kith knows of: set it to 0");
  }
  if (train.head_epochs > 0 && !trains_head(net)) {
    throw ConfigError(
        "'train.head_epochs' trains the head alone, and 'train.freeze' keeps "
        "all of it as it is: set one of them to nothing");
  }
}

void check_training(const RunConfig& config, const DataSet& data,
                    const Protocol& protocol, EmbeddingNet& net) {
  config.eval.descriptor.check(net.backbone());
  parse_rerank(config.eval.rerank, "eval.rerank");
  const bool evaluates = config.eval.evaluates();
  if (evaluates) {
    eval_tasks(protocol, data.list(), eval_split(config.eval, data.list()));
  }
  net.train();
  const bool in_parts = config.train.sub_batch > 0 || net.input().any_shape();
  if (in_parts && !gathered_statistics(net).empty()) {
    log_warning(
        "batch norm takes its statistics from each part of train.sub_batch "
        "images, or of one size, so gradients are not those of the whole "
        "batch; model.bn: stats keeps the statistics fixed, and with model.bn: "
        "sync several ranks need no parts as small");
  }
  if (config.eval.every > 0 && evaluates &&
      eval_split(config.eval, data.list()) == Split::kTest) {
    log_warning(
        "the best checkpoint is picked on the test split, which flatters it: "
        "report the last one, or choose on validation images of the data or on "
        "held-out training classes (train.validation)");
  }
  tell_patience(config.train);
}

}  // namespace kith
