#pragma once

#include "kith/core/config.h"
#include "kith/models/weight_files.h"

namespace kith {

/// What the files beside published weights say of the network and of its
/// pictures. There is no entry for what they do not say.
struct PublishedNetwork {
  ConfigNode backbone;  ///< A `model.backbone` section; null: not said.
  ConfigNode input;     ///< A map: size, resize, filter, mean, std.
};

/// Reads the config.json and preprocessor_config.json of Hugging Face, or the
/// config.json of timm. `user` is the `model` section of who asks: what it says
/// itself is not read, and may be anything there. DataError, with file and key,
/// if something else cannot be done by kith.
PublishedNetwork describe_published(const WeightFiles& files,
                                    const ConfigNode& user);

}  // namespace kith
