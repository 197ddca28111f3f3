// The loop over batches of embed(): pictures are loaded, copied and embedded
// while what was made of the ones before is used.
#include <optional>
#include <utility>

#include <torch/torch.h>

#include "kith/eval/batch_upload.h"
#include "kith/eval/embed_pictures.h"
#include "kith/eval/embed_steps.h"
#include "kith/models/conv_norm.h"
#include "kith/ops/kept_memory.h"
#include "kith/ops/stream.h"

namespace kith {
namespace {

bool takes_plain(const EmbeddingNet& net, const EmbedOptions& options) {
  return options.descriptor.is_plain() && !net.input().any_shape();
}

/// One picture an image, all of the network's own size.
void embed_plain(ReplayedForward& network, const DataSet& data,
                 const ImageBatches& images, const EmbedOptions& options,
                 const TakeRows& take) {
  EmbeddingNet& net = network.net();
  const Augmentations none;
  // A GPU is faster at the second half of decoding, and waits for the first.
  const bool on_gpu = net.device().is_cuda() && can_be_coded(net.input()) &&
                      options.cache == nullptr && !options.change;
  CodedBatches coded(net.input());
  const auto load = [&](int64_t batch, int64_t position, int64_t index) {
    Rng unused(0, Stream::kAugment);
    const auto prepare = [&](const Image& image) {
      return prepare_image(image, net.input(), none, unused);
    };
    if (on_gpu) {
      const std::optional<Image> image =
          data.load_unless(index, coded.taker(batch, position));
      return image ? prepare(*image) : Image();
    }
    Image picture = options.cache != nullptr
                        ? prepare(*options.cache->load(index))
                        : prepare(data.load(index));
    if (options.change) return options.change(picture, index);
    return picture;
  };
  // The last one is filled up unless it is the only one, whoever has it.
  const int64_t usual = images.of_all > options.batch ? options.batch : 0;
  Loader loader(images.batches, load, loader_for(net, options));
  // A GPU is given the next batch while it works on one, and no more: each
  // takes memory there.
  StreamPoint before, last;
  while (loader.remaining() > 0) {
    const Batch batch = next_batch(loader, options.times);
    const BatchUpload pixels(batch, coded.next(), net.input(), net.device());
    take(forward_pixels(network, pixels.get(), usual));
    std::exchange(before, std::exchange(last, StreamPoint(net.device())))
        .reach();
    finish_copy(pixels, options.times);
  }
}

}  // namespace

int64_t images_together(EmbeddingNet& net, const EmbedOptions& options) {
  options.descriptor.check(net.backbone());
  if (!options.pooled) options.descriptor.dim_of(net.dim());
  return takes_plain(net, options) ? options.batch
                                   : images_a_batch(net.input(), options);
}

void embed_batches(EmbeddingNet& net, const DataSet& data,
                   const ImageBatches& images, const EmbedOptions& options,
                   const TakeRows& take) {
  const KeptMemory kept;
  const FoldOnce fold_once;
  const bool was_training = net.is_training();
  net.eval();
  ReplayedForward network(net, options.pooled);
  if (takes_plain(net, options)) {
    embed_plain(network, data, images, options, take);
  } else {
    embed_pictures(network, data, images, options, take);
  }
  net.train(was_training);
}

}  // namespace kith
