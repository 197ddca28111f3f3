#include "kith/eval/embed.h"

#include <torch/torch.h>

#include "kith/eval/embed_pictures.h"
#include "kith/ops/pairwise.h"
#include "kith/ops/upload.h"

namespace kith {
namespace {

/// One picture an image, all of the network's own size.
Tensor embed_plain(EmbeddingNet& net, const DataSet& data,
                   const std::vector<int64_t>& indices,
                   const EmbedOptions& options, Progress& progress) {
  const Augmentations none;
  const auto load = [&](int64_t, int64_t, int64_t index) {
    Rng unused(0, Stream::kAugment);
    const auto prepare = [&](const Image& image) {
      return prepare_image(image, net.input(), none, unused);
    };
    Image picture = options.cache != nullptr
                        ? prepare(*options.cache->load(index))
                        : prepare(data.load(index));
    if (options.change) return options.change(picture, index);
    return picture;
  };
  Loader loader(in_batches(indices, options.batch), load, options.loader);
  progress.start("embed", static_cast<int64_t>(indices.size()));
  std::vector<Tensor> parts;
  int64_t done = 0;
  while (loader.remaining() > 0) {
    const Batch batch = loader.next();
    const Upload pixels(pixels_of(batch.parts.front()), net.device());
    parts.push_back(forward_pixels(
        net, pixels.get(), parts.empty() ? 0 : options.batch, options.pooled));
    // The GPU has read the batch's memory before it goes to the next one.
    pixels.wait();
    done += batch.count();
    progress.advance(done, "");
  }
  progress.finish();
  return torch::cat(parts);
}

}  // namespace

Tensor embed(EmbeddingNet& net, const DataSet& data,
             const std::vector<int64_t>& indices, const EmbedOptions& options,
             Progress& progress) {
  const torch::NoGradGuard no_grad;
  options.descriptor.check(net.backbone());
  const bool was_training = net.is_training();
  net.eval();
  const Tensor embeddings =
      options.descriptor.is_plain() && !net.input().any_shape()
          ? embed_plain(net, data, indices, options, progress)
          : embed_pictures(net, data, indices, options, progress);
  net.train(was_training);
  if (options.whitening == nullptr) return embeddings;
  return options.whitening->apply(normalize_rows(embeddings));
}

}  // namespace kith
