// usage: kith_python_backbones BACKBONE WEIGHTS INPUT.npy OUT_MAP.npy
//                               [OUT_TOKEN.npy]
//
// For backbones_test.py: a backbone with the weights of a file and the
// statistics of batch norm kept, on pictures [N, C, S, S] float32.

#include <exception>
#include <iostream>
#include <string>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/tensor_io.h"
#include "kith/models/backbone.h"
#include "kith/models/weights.h"

namespace {

void run(int count, char** arguments) {
  if (count < 5) throw kith::ConfigError("too few arguments");
  const torch::NoGradGuard no_grad;
  const kith::Tensor images = kith::load_npy(arguments[3]);
  const auto net = kith::backbone_registry().make(
      kith::parse_config("{name: " + std::string(arguments[1]) + "}", "test"),
      "model.backbone",
      kith::BackboneInput{images.size(1), images.size(2), "all"});
  const kith::WeightReport report = kith::load_weights(arguments[2], *net);
  std::cout << report.summary() << "\n";
  if (!report.missing.empty() || !report.mismatched.empty()) {
    throw kith::DataError("the file does not have all weights");
  }
  const kith::Features features = net->forward(images);
  kith::save_npy(arguments[4], features.map.contiguous());
  if (count > 5) kith::save_npy(arguments[5], features.token.contiguous());
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run(count, arguments);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "kith_python_backbones: " << error.what() << "\n";
    return 1;
  }
}
