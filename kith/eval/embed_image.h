#pragma once

#include "kith/core/tensor.h"
#include "kith/eval/descriptor.h"
#include "kith/image/image.h"
#include "kith/models/embedding_net.h"

namespace kith {

/// The embedding of one image, [dim] float32 on the CPU: what embed() gives for
/// it. For many images embed() is quicker. The overload for a LoadedModel
/// (kith/train/model_embedding.h) knows the descriptor itself.
Tensor embed_image(EmbeddingNet& net, const Image& image,
                   const DescriptorOptions& descriptor);

}  // namespace kith
