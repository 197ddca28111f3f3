#include "cli/published_flags.h"

#include "cli/usage.h"
#include "kith/core/error.h"

namespace kith {

void PublishedFlags::add_to(CLI::App& command, std::string& model) {
  command
      .add_option("model", model,
                  "A run's folder, a checkpoint (.safetensors) or an export")
      ->type_name("MODEL");
  command
      .add_option("--weights", published.weights,
                  "In place of a model: published weights, without training; "
                  "a file, or a folder of Hugging Face or timm")
      ->type_name("PATH");
  command
      .add_option("--backbone", published.backbone,
                  "With --weights: the network (see: kith list backbones); "
                  "default: the one that the folder's files describe")
      ->type_name("NAME");
  command
      .add_option("--set", published.overrides,
                  "With --weights, a key of the section model: "
                  "--set model.input.size=448")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void PublishedFlags::check(const std::string& command,
                           const std::string& model) const {
  const bool is_published = !published.weights.empty();
  if (model.empty() && !is_published && published.backbone.empty()) {
    throw ConfigError("kith " + command +
                      " needs a model: a run's folder, a checkpoint or an "
                      "export; or --weights of a published network");
  }
  if (!model.empty() && is_published) {
    throw ConfigError("kith " + command + " takes a model (" + model +
                      ") or --weights, not both");
  }
  if (!is_published && !published.backbone.empty()) {
    throw ConfigError(
        "--backbone needs --weights: without them the network would be random");
  }
  if (!is_published && !published.overrides.empty()) {
    throw ConfigError("--set is for a network that --weights gives; " + model +
                      " says itself how it was made");
  }
}

}  // namespace kith
