#pragma once

#include <string>
#include <vector>

namespace kith {

/// A configuration that trains in seconds: three steps an epoch.
inline const char* const kTinyConfig =
    "data: {name: glyphs, classes: 12, per_class: 8}\n"
    "sampler: {batch: 16, per_class: 4}\n"
    "augment: [{name: affine, degrees: 10, translate: 0.1}]\n"
    "model:\n"
    "  input: {size: 16}\n"
    "  backbone: {name: convnet, width: 8}\n"
    "  head: {dim: 16}\n"
    "train: {epochs: 2}\n";

/// The arguments of `kith train`, on one thread of the CPU.
inline std::vector<std::string> train_arguments(
    const std::string& config, const std::string& out,
    const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train",    config, "--out",     out,
                                        "--device", "cpu",  "--threads", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace kith
