#pragma once

#include "kith/core/tensor.h"
#include "kith/eval/descriptor.h"
#include "kith/image/image.h"
#include "kith/run/checkpoint.h"

namespace kith {

/// From which pictures a model embeds an image unless it is told otherwise: as
/// its run's configuration says for evaluation (`eval.scales`,
/// `eval.long_side`, `eval.flip`, `eval.dim`).
DescriptorOptions model_descriptor(const LoadedModel& model);

/// From now on the model's embeddings are the first `dim` numbers of what its
/// network makes, as if its configuration said so (`eval.dim`).
void cut_embeddings(LoadedModel& model, int64_t dim);

/// The embedding of one image, [dim] float32 on the CPU, as `kith embed` gives
/// it. For many images embed() is quicker.
Tensor embed_image(const LoadedModel& model, const Image& image);

}  // namespace kith
