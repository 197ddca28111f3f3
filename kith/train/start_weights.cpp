#include "kith/train/start_weights.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kith/core/draw.h"
#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/options.h"
#include "kith/eval/matching_pairs.h"
#include "kith/models/weights.h"
#include "kith/run/checkpoint.h"
#include "kith/run/run_place.h"

namespace kith {
namespace {

/// Weights start worse where pictures come in other colours, or scaled in
/// another way, than those they were trained with.
void compare_inputs(const std::string& path, const ConfigNode& model) {
  const ConfigNode before = read_checkpoint_info(path).config;
  const ConfigNode* other = before.find("model");
  const ConfigNode* theirs = other == nullptr ? nullptr : other->find("input");
  if (theirs == nullptr) return;
  std::vector<std::string> changed;
  for (const char* key : {"colour", "mean", "std"}) {
    const ConfigNode* node = theirs->find(key);
    if (node != nullptr &&
        to_yaml(*node) != to_yaml(*model.find("input")->find(key))) {
      changed.push_back(std::string("model.input.") + key);
    }
  }
  if (changed.empty()) return;
  log_warning(path + ": these weights were trained with another " +
              join(changed, " and ") + "; set it as there");
}

/// Some of the candidates, rising.
std::vector<int64_t> draw_images(const std::vector<int64_t>& candidates,
                                 int64_t most, Rng& rng) {
  std::vector<int64_t> images =
      draw_distinct(std::ssize(candidates), most, rng);
  for (int64_t& image : images) image = candidates[static_cast<size_t>(image)];
  std::sort(images.begin(), images.end());
  return images;
}

void check_enough(const HeadOptions& head, int64_t images) {
  if (images > head.dim) return;
  throw ConfigError("'model.head.init' is " + head.init +
                    ", which needs more images than dimensions: "
                    "'model.head.dim' is " +
                    std::to_string(head.dim) + ", and there are " +
                    std::to_string(images) +
                    " training images within 'model.head.whiten_images' (" +
                    std::to_string(head.whiten_images) + ")");
}

}  // namespace

void load_start_weights(EmbeddingNet& net, const RunConfig& config) {
  std::string path;
  WeightReport report;
  if (!config.train.init_from.empty()) {
    path = find_checkpoint(
        run_path(config.tree, "train.init_from", config.train.init_from));
    report = start_from_checkpoint(path, net);
    compare_inputs(path, config.section("model"));
  } else if (!net.options().weights.empty()) {
    path = run_path(config.tree, "model.weights", net.options().weights);
    report = load_weights(path, net.backbone());
  } else {
    return;
  }
  const bool complete = report.missing.empty() && report.mismatched.empty();
  (complete ? log_info : log_warning)(path + ": " + report.summary());
}

void whiten_head(EmbeddingNet& net, const DataSet& data,
                 const std::vector<int64_t>& candidates, uint64_t seed,
                 EmbedOptions options, Progress& progress) {
  const HeadOptions& head = net.head().options();
  Rng rng(seed, Stream::kInit, {1});
  MatchingPairs pairs;
  const bool from_pairs = head.init == "pair_whitening";
  if (from_pairs) {
    pairs =
        draw_matching_pairs(data.list(), candidates, head.whiten_images, rng);
  } else {
    pairs.images = draw_images(candidates, head.whiten_images, rng);
  }
  check_enough(head, std::ssize(pairs.images));
  options.pooled = true;
  log_info("the head's linear layer starts from the whitening of " +
           std::to_string(pairs.images.size()) + " training images" +
           (from_pairs ? " in " + std::to_string(pairs.rows.size(0)) +
                             " matching pairs"
                       : ""));
  const Tensor found = embed(net, data, pairs.images, options, progress);
  const Whitening whitening =
      from_pairs ? Whitening::learn_from_pairs(found, pairs.rows, head.dim)
                 : Whitening::learn(found, head.dim);
  net.head().set_linear(whitening.projection(), whitening.mean());
}

}  // namespace kith
