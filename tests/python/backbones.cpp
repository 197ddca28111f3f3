#include <iostream>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/tensor_io.h"
#include "kith/models/backbone.h"
#include "kith/models/weights.h"
#include "tests/python/commands.h"

namespace kith {

void print_backbones(const Arguments& names) {
  for (const std::string& name : names) {
    const ConfigNode section = parse_config("{name: " + name + "}", "test");
    std::cout << to_yaml(
                     backbone_registry().complete(section, "model.backbone"))
              << std::endl;
  }
}

void run_backbone(const Arguments& arguments) {
  if (arguments.size() < 4) throw ConfigError("too few arguments");
  const torch::NoGradGuard no_grad;
  const Tensor images = load_npy(arguments[2]);
  const auto net = backbone_registry().make(
      parse_config("{name: " + arguments[0] + "}", "test"), "model.backbone",
      BackboneInput{images.size(1), images.size(2), "all"});
  const WeightReport report = load_weights(arguments[1], *net);
  std::cout << report.summary() << "\n";
  if (!report.missing.empty() || !report.mismatched.empty()) {
    throw DataError("the file does not have all weights");
  }
  const Features features = net->forward(images);
  save_npy(arguments[3], features.map.contiguous());
  if (arguments.size() > 4) {
    save_npy(arguments[4], features.token.contiguous());
  }
}

}  // namespace kith
