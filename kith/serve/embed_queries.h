#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/eval/descriptor.h"
#include "kith/image/image.h"
#include "kith/models/replayed_forward.h"

namespace kith {

/// Unit embeddings [N, dim] on the CPU of images whose pictures (see
/// make_pictures) are already made; these are taken out. They are what embed()
/// gives for the same images, made unit. The network is in evaluation mode; no
/// more than `batch` of the largest pictures of its own input are in it at
/// once.
Tensor embed_queries(ReplayedForward& network,
                     std::vector<std::vector<Image>>& pictures,
                     const DescriptorOptions& descriptor, int64_t batch);

}  // namespace kith
