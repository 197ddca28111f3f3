#pragma once

#include <string>
#include <vector>

#include "kith/run/checkpoint.h"

namespace kith {

/// A network as it was published, without any training by kith.
struct PublishedModel {
  std::string weights = {};   ///< As `model.weights`: a file or a folder.
  std::string backbone = {};  ///< Its name; empty: the folder's files say it.
  /// Laid over the configuration: "model.input.size=448".
  std::vector<std::string> overrides = {};
};

/// The network, in evaluation mode. Without a word about it
///
/// - the embedding is what the backbone makes, of unit length: `model.head.dim`
///   is 0 and `pooling` that of its publication, or class_token where there is
///   such a token, else average;
/// - the input is the one of the files beside the weights, or that of the
///   publication, or else 224 pixels, the centre of pictures whose short side
///   has 8/7 of it.
///
/// The log says what was taken and which weights fit. DataError if one of the
/// network's is not among them: it would be random.
LoadedModel load_published_model(const PublishedModel& published,
                                 c10::Device device);

}  // namespace kith
