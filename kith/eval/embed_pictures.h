#pragma once

#include <cstdint>

#include "kith/core/tensor.h"
#include "kith/core/timer.h"
#include "kith/eval/embed.h"
#include "kith/eval/embed_steps.h"
#include "kith/models/replayed_forward.h"

namespace kith {

/// How pictures are loaded: for a network on a GPU into page-locked memory,
/// from which they are copied several times as fast.
LoaderOptions loader_for(const EmbeddingNet& net, const EmbedOptions& options);

/// Waits until a GPU has read a batch's memory, which then goes to the next
/// one. `times`, unless it is null, gets the wait.
template <class Copy>
void finish_copy(const Copy& pixels, EmbedTimes* times) {
  const Timer timer;
  pixels.wait();
  if (times != nullptr) times->copying += timer.seconds();
}

/// What a network makes of pixels [N, H, W, C]. On a GPU a batch that is
/// smaller than the `usual` one is filled up: preparing convolutions for
/// another shape takes seconds.
Tensor forward_pixels(ReplayedForward& network, const Tensor& pixels,
                      int64_t usual);

/// Images that are loaded together: a batch, but of large pictures no more than
/// fill 256 MB, unless a thread would have nothing to do.
int64_t images_a_batch(const InputOptions& input, const EmbedOptions& options);

/// embed_batches() for images that are embedded in several pictures, or in
/// pictures of any size: descriptors as options.descriptor says, unit rows; of
/// a plain descriptor the network's own rows. The network is in evaluation
/// mode.
///
/// Pictures of one size go through the network together: as many as have the
/// pixels of `options.batch` pictures of the model's own input, so that the
/// network needs no more memory than with these.
void embed_pictures(ReplayedForward& network, const DataSet& data,
                    const ImageBatches& images, const EmbedOptions& options,
                    const TakeRows& take);

}  // namespace kith
