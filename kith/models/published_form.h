#pragma once

#include <cstdint>

#include "kith/core/config.h"
#include "kith/core/tensor.h"
#include "kith/models/embedding_net.h"
#include "kith/models/published_name.h"

namespace kith {

/// A backbone as the network of timm or torchvision that is the same.
struct PublishedForm {
  PublishedName network;
  NamedTensors weights;  ///< By the names there, contiguous, on the CPU.
  /// The `model.backbone` section that these weights are of: the network's own,
  /// but positions are those of its pictures.
  ConfigNode backbone;
  /// What its classifier there makes: a projection that belongs to the network,
  /// as CLIP's; 0: there is none.
  int64_t classes = 0;
  bool has_positions = false;  ///< Learnt, for pictures of one size.
};

/// ConfigError if neither library has the network (see published_name()), or
/// if it is the user's own. The network is as it is used, without adapters.
PublishedForm published_form(EmbeddingNet& net);

}  // namespace kith
