#include "kith/eval/embed.h"

#include <limits>

#include <torch/torch.h>

#include "kith/core/error.h"
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

/// What is wrong with an embedding is wrong with the network: no number that
/// is made of it would be right.
[[noreturn]] void throw_broken(const std::string& path, bool is_zero,
                               const EmbedOptions& options) {
  throw RunError((path.empty() ? "the image" : path) + ": its embedding " +
                 (is_zero ? "is all zero and has no direction to compare"
                          : "has a NaN or infinite value") +
                 ": " + options.network +
                 " is broken; take an earlier checkpoint, or train with a "
                 "smaller optimizer.lr or with train.clip_norm");
}

void check_embeddings(const Tensor& rows, const DataSet& data,
                      const std::vector<int64_t>& indices,
                      const EmbedOptions& options) {
  if (rows.numel() == 0) return;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor largest = torch::linalg_vector_norm(rows, kInfinity, {1});
  // Not if it is NaN. Features before the head may well be zero.
  const Tensor right =
      (largest < kInfinity)
          .logical_and(options.pooled ? largest >= 0 : largest > 0);
  if (right.all().item<bool>()) return;
  const int64_t bad = right.logical_not().nonzero()[0][0].item<int64_t>();
  const auto item = static_cast<size_t>(indices[static_cast<size_t>(bad)]);
  throw_broken(data.list().items[item].path, largest[bad].item<double>() == 0,
               options);
}

/// Embeddings as the network gives them.
Tensor embed_raw(EmbeddingNet& net, const DataSet& data,
                 const std::vector<int64_t>& indices,
                 const EmbedOptions& options, Progress& progress) {
  const bool was_training = net.is_training();
  net.eval();
  const Tensor embeddings =
      options.descriptor.is_plain() && !net.input().any_shape()
          ? embed_plain(net, data, indices, options, progress)
          : embed_pictures(net, data, indices, options, progress);
  net.train(was_training);
  return embeddings;
}

}  // namespace

Tensor embed(EmbeddingNet& net, const DataSet& data,
             const std::vector<int64_t>& indices, const EmbedOptions& options,
             Progress& progress) {
  const torch::NoGradGuard no_grad;
  options.descriptor.check(net.backbone());
  Tensor embeddings = embed_raw(net, data, indices, options, progress);
  check_embeddings(embeddings, data, indices, options);
  if (options.whitening == nullptr) return embeddings;
  embeddings = options.whitening->apply(normalize_rows(embeddings));
  check_embeddings(embeddings, data, indices, options);
  return embeddings;
}

}  // namespace kith
