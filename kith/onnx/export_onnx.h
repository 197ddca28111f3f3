#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/core/options.h"
#include "kith/models/embedding_net.h"
#include "kith/onnx/onnx_model.h"

namespace kith {

/// A network as a file of ONNX.
struct OnnxOptions {
  std::string input = "float32";
  std::string weights = "float32";
  std::string size = "any";

  void describe(OptionSet& set);
};

/// What is written beside the network.
struct OnnxNotes {
  std::string version = {};      ///< Of kith.
  std::string description = {};  ///< A line for people.
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

/// The network in evaluation mode, on the CPU and in float32, as a model with
/// one input and one output:
///
///     images      [batch, C, height, width] float32, as
///     EmbeddingNet::prepare()
///                 makes them, or [batch, height, width, C] uint8, from which
///                 the model does that itself
///     embeddings  [batch, dim] float32, of unit length if the network's are
///
/// Nothing is written by hand for a backbone: what the network does with a few
/// pictures is recorded, and LibTorch's operations become those of ONNX, so
/// that a network of the user's own is written too. Batch norm behind a
/// convolution is in its weights, and adapters are in theirs. Where another
/// size of pictures changes more than sizes, the size is fixed, and the log
/// says so.
///
/// ConfigError if the network does something that kith cannot write, and names
/// it. What is recorded is compared with the network once.
OnnxModel onnx_model(EmbeddingNet& net, const OnnxOptions& options,
                     const OnnxNotes& notes);

}  // namespace kith
