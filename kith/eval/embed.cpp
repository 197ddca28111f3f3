#include "kith/eval/embed.h"

#include <limits>
#include <optional>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/timer.h"
#include "kith/eval/batch_upload.h"
#include "kith/eval/embed_pictures.h"
#include "kith/eval/embed_steps.h"
#include "kith/eval/image_share.h"
#include "kith/index/tell_others.h"
#include "kith/models/conv_norm.h"
#include "kith/ops/kept_memory.h"
#include "kith/ops/pairwise.h"
#include "kith/ops/stream.h"

namespace kith {
namespace {

Tensor no_rows(EmbeddingNet& net, const EmbedOptions& options) {
  return torch::empty(
      {0, options.pooled ? net.pooled_dim() : net.dim()},
      torch::TensorOptions().dtype(torch::kFloat).device(net.device()));
}

/// One picture an image, all of the network's own size.
Tensor embed_plain(ReplayedForward& network, const DataSet& data,
                   const ImageShare& share, const EmbedOptions& options,
                   Progress& progress) {
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
  const int64_t usual = share.all_batches > 1 ? options.batch : 0;
  Loader loader(share.batches, load, loader_for(net, options));
  progress.start("embed", share.all_images);
  std::vector<Tensor> parts;
  // A GPU is given the next batch while it works on one, and no more: each
  // takes memory there.
  StreamPoint before, last;
  int64_t done = 0;
  while (loader.remaining() > 0) {
    const Batch batch = next_batch(loader, options.times);
    const BatchUpload pixels(batch, coded.next(), net.input(), net.device());
    parts.push_back(forward_pixels(network, pixels.get(), usual));
    std::exchange(before, std::exchange(last, StreamPoint(net.device())))
        .reach();
    finish_copy(pixels, options.times);
    done += batch.count();
    progress.advance(share.done_by_all(done), "");
  }
  progress.finish();
  return parts.empty() ? no_rows(net, options) : torch::cat(parts);
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

/// Puts a network into evaluation mode, and back when all went well. Its
/// weights stay as they are meanwhile.
template <class F>
Tensor in_evaluation_mode(EmbeddingNet& net, const F& f) {
  const KeptMemory kept;
  const FoldOnce fold_once;
  const bool was_training = net.is_training();
  net.eval();
  const Tensor result = f();
  net.train(was_training);
  return result;
}

}  // namespace

EmbeddedShare embed_raw(EmbeddingNet& net, const DataSet& data,
                        const std::vector<int64_t>& indices,
                        const EmbedOptions& options, Progress& progress) {
  options.descriptor.check(net.backbone());
  if (!options.pooled) options.descriptor.dim_of(net.dim());
  const bool plain = options.descriptor.is_plain() && !net.input().any_shape();
  const ImageShare share = image_share(
      indices, plain ? options.batch : images_a_batch(net.input(), options),
      or_alone(options.ranks));
  const Timer timer;
  const Tensor rows = in_evaluation_mode(net, [&] {
    ReplayedForward network(net, options.pooled);
    return plain ? embed_plain(network, data, share, options, progress)
                 : embed_pictures(network, data, share, options, progress);
  });
  check_embeddings(rows, data, share.images, options);
  if (options.times != nullptr) {
    options.times->images += share.all_images;
    options.times->seconds += timer.seconds();
  }
  return {rows, share.first};
}

Tensor finish_embeddings(const Tensor& whole, const DataSet& data,
                         const std::vector<int64_t>& indices,
                         const EmbedOptions& options) {
  Tensor rows = whole;
  if (options.descriptor.dim > 0 && !options.pooled) {
    rows = normalize_rows(whole.narrow(1, 0, options.descriptor.dim));
    check_embeddings(rows, data, indices, options);
  }
  if (options.whitening == nullptr) return rows;
  const Tensor whitened = options.whitening->apply(normalize_rows(rows));
  check_embeddings(whitened, data, indices, options);
  return whitened;
}

Tensor embed(EmbeddingNet& net, const DataSet& data,
             const std::vector<int64_t>& indices, const EmbedOptions& options,
             Progress& progress) {
  const torch::NoGradGuard no_grad;
  Communicator& ranks = or_alone(options.ranks);
  return telling(ranks, [&] {
    const Tensor mine = embed_raw(net, data, indices, options, progress).rows;
    return finish_embeddings(ranks.all_gather(mine), data, indices, options);
  });
}

EmbeddedShare embed_share(EmbeddingNet& net, const DataSet& data,
                          const std::vector<int64_t>& indices,
                          const EmbedOptions& options, Progress& progress) {
  const torch::NoGradGuard no_grad;
  return telling(or_alone(options.ranks), [&] {
    EmbeddedShare share = embed_raw(net, data, indices, options, progress);
    const auto begin = indices.begin() + share.first;
    share.rows = finish_embeddings(
        share.rows, data, {begin, begin + share.rows.size(0)}, options);
    return share;
  });
}

}  // namespace kith
