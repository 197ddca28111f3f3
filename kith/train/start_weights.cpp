#include "kith/train/start_weights.h"

#include <string>
#include <vector>

#include "kith/core/log.h"
#include "kith/core/options.h"
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

}  // namespace kith
