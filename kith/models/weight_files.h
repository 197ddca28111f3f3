#pragma once

#include <string>
#include <vector>

#include "kith/ops/tensor_limit.h"

namespace kith {

/// The files of a network as it was published.
struct WeightFiles {
  std::vector<std::string> weights;  ///< One, or all parts of one.
  std::string config = {};           ///< config.json; empty: there is none.
  std::string preprocessing = {};    ///< preprocessor_config.json, likewise.
};

/// What `path` means: a folder as Hugging Face and timm write them, with
/// model.safetensors or pytorch_model.bin, whole or in parts that an index
/// beside them lists, and what describes the network; one of these files, which
/// stands for the folder; or any other file of weights, alone. DataError if a
/// folder has no weights, or an index is broken or names files outside of its
/// folder.
WeightFiles find_weight_files(const std::string& path);

/// For as long as a network is made that `description`, a file from elsewhere,
/// asks for: it may take what these files of its weights can fill. They have
/// half precision, or more; the rest is room for what comes and goes.
TensorLimit limit_network(const std::string& description,
                          const std::vector<std::string>& weights);

}  // namespace kith
