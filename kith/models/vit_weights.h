#pragma once

#include <string>

#include "kith/core/tensor.h"
#include "kith/models/vision_transformer.h"

namespace kith {

/// Turns the tensors of a published vision transformer into those of kith,
/// which has timm's names. Known are torchvision, timm, transformers (ViT,
/// DeiT, DINOv2, DINOv3, CLIP, SigLIP) and the code of DINO, DINOv2, DINOv3,
/// CLIP and Unicom; of files with more than the network, such as CLIP's text
/// part, only the network is taken.
///
/// - Separate query, key and value, and the two layers of a gated MLP, are
///   joined. Biases that a file's network does not have are zero.
/// - The position of the class token is added to the token where only patches
///   have positions.
/// - Positions of another grid become those of `side` x `side`, as
///   `interpolation` says.
///
/// A file that is no vision transformer stays as it is.
void adapt_vit_weights(NamedTensors& weights, const VitOptions& options,
                       int64_t side, int64_t channels);

/// The way back: kith's tensors become those of timm's network, with positions
/// for `side` x `side` patches. CLIP's projection is the classifier there.
void publish_vit_weights(NamedTensors& weights, const VitOptions& options,
                         int64_t side);

/// "dinov2_vits14 (patch 14, width 384, depth 12)": the known network whose
/// adapted tensors these are nearest to, or vit if none has these sizes; empty
/// for another network.
std::string nearest_vit(const NamedTensors& weights);

}  // namespace kith
