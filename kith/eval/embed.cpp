#include "kith/eval/embed.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "kith/ops/upload.h"

namespace kith {
namespace {

/// Positions of `wanted` in the sorted list `all`; -1 for one that is missing.
Tensor find_rows(const std::vector<int64_t>& all,
                 const std::vector<int64_t>& wanted) {
  std::vector<int64_t> rows;
  rows.reserve(wanted.size());
  for (int64_t index : wanted) {
    const auto found = std::lower_bound(all.begin(), all.end(), index);
    rows.push_back(found != all.end() && *found == index ? found - all.begin()
                                                         : -1);
  }
  return torch::tensor(rows, torch::kLong);
}

/// Embeddings of pixels [N, H, W, C]. On a GPU a batch that is smaller than the
/// ones before it is filled up: preparing convolutions for another shape takes
/// seconds.
Tensor forward(EmbeddingNet& net, const Tensor& pixels, int64_t usual) {
  const int64_t missing = usual - pixels.size(0);
  if (missing <= 0 || !pixels.is_cuda()) {
    return net.forward(net.prepare(pixels));
  }
  const Tensor full =
      torch::constant_pad_nd(pixels, {0, 0, 0, 0, 0, 0, 0, missing});
  return net.forward(net.prepare(full)).slice(0, 0, pixels.size(0));
}

}  // namespace

Tensor embed(EmbeddingNet& net, const DataSet& data,
             const std::vector<int64_t>& indices, const EmbedOptions& options,
             Progress& progress) {
  const torch::NoGradGuard no_grad;
  const bool was_training = net.is_training();
  net.eval();
  const Augmentations none;
  const auto load = [&](int64_t, int64_t, int64_t index) {
    Rng unused(0, Stream::kAugment);
    if (options.cache != nullptr) {
      return prepare_image(*options.cache->load(index), net.input(), none,
                           unused);
    }
    return prepare_image(data.load(index), net.input(), none, unused);
  };
  Loader loader(in_batches(indices, options.batch), load, options.loader);
  progress.start("embed", static_cast<int64_t>(indices.size()));
  std::vector<Tensor> parts;
  int64_t done = 0;
  while (loader.remaining() > 0) {
    const Batch batch = loader.next();
    const Upload pixels(pixels_of(batch), net.device());
    parts.push_back(
        forward(net, pixels.get(), parts.empty() ? 0 : options.batch));
    // The GPU has read the batch's memory before it goes to the next one.
    pixels.wait();
    done += batch.count();
    progress.advance(done, "");
  }
  progress.finish();
  net.train(was_training);
  return torch::cat(parts);
}

EmbeddedSplit embed_split(EmbeddingNet& net, const DataSet& data, Split split,
                          const Protocol& protocol, const EmbedOptions& options,
                          Progress& progress) {
  EmbeddedSplit result;
  result.sets = query_sets(protocol, data.list(), split);
  std::vector<int64_t>& all = result.rows_of;
  std::set_union(result.sets.queries.begin(), result.sets.queries.end(),
                 result.sets.gallery.begin(), result.sets.gallery.end(),
                 std::back_inserter(all));
  result.embeddings = normalize_rows(embed(net, data, all, options, progress));

  const auto rows = [&](const std::vector<int64_t>& set) {
    return result.embeddings.index_select(
        0, find_rows(all, set).to(result.embeddings.device()));
  };
  const auto labels = [&](const std::vector<int64_t>& set) {
    return torch::tensor(data.list().labels(set), torch::kLong);
  };
  const QuerySets& sets = result.sets;
  result.scored = {rows(sets.queries), labels(sets.queries), rows(sets.gallery),
                   labels(sets.gallery), find_rows(sets.gallery, sets.queries)};
  return result;
}

}  // namespace kith
