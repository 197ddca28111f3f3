#include "kith/eval/embed.h"

#include <limits>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/timer.h"
#include "kith/eval/embed_steps.h"
#include "kith/eval/image_share.h"
#include "kith/index/tell_others.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

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
  check_largest(largest_of(rows), data, indices, options);
}

}  // namespace

Tensor no_rows(EmbeddingNet& net, const EmbedOptions& options) {
  return torch::empty(
      {0, options.pooled ? net.pooled_dim() : net.dim()},
      torch::TensorOptions().dtype(torch::kFloat).device(net.device()));
}

Tensor largest_of(const Tensor& rows) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return torch::linalg_vector_norm(rows, kInfinity, {1});
}

void check_largest(const Tensor& largest, const DataSet& data,
                   const std::vector<int64_t>& indices,
                   const EmbedOptions& options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
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

EmbeddedShare embed_raw(EmbeddingNet& net, const DataSet& data,
                        const std::vector<int64_t>& indices,
                        const EmbedOptions& options, Progress& progress) {
  const ImageShare share = image_share(indices, images_together(net, options),
                                       or_alone(options.ranks));
  const Timer timer;
  progress.start("embed", share.all_images);
  std::vector<Tensor> parts;
  int64_t done = 0;
  embed_batches(net, data, {share.batches, share.all_images}, options,
                [&](const Tensor& rows) {
                  parts.push_back(rows);
                  done += rows.size(0);
                  progress.advance(share.done_by_all(done), "");
                });
  progress.finish();
  const Tensor rows = parts.empty() ? no_rows(net, options) : torch::cat(parts);
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
