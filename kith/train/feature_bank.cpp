#include "kith/train/feature_bank.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/rng.h"
#include "kith/eval/image_share.h"
#include "kith/models/conv_norm.h"
#include "kith/ops/pairwise.h"
#include "kith/ops/upload.h"

namespace kith {

FeatureBank::FeatureBank(FeatureBankParts parts, int64_t count)
    : parts_(std::move(parts)), count_(static_cast<size_t>(count)) {}

/// [n, F] of a view of images, by all ranks together. View -1 is the one for
/// testing.
Tensor FeatureBank::compute(const std::vector<int64_t>& images, int64_t view,
                            Progress& progress) {
  const torch::NoGradGuard no_grad;
  EmbeddingNet& net = parts_.net;
  const auto load = [&](int64_t, int64_t, int64_t index) {
    Rng rng(parts_.seed, Stream::kAugment, {-2 - view, index});
    return prepare_image(*parts_.images.load(index), net.input(),
                         view < 0 ? Augmentations() : parts_.augmentations,
                         rng);
  };
  const bool was_training = net.is_training();
  net.eval();
  const FoldOnce fold_once;
  const ImageShare share = image_share(images, parts_.batch, parts_.ranks);
  Loader loader(share.batches, load, parts_.loader);
  progress.start(view < 0 ? "features"
                          : "features, view " + std::to_string(view + 1) + "/" +
                                std::to_string(parts_.views),
                 share.all_images);
  std::vector<Tensor> rows = {
      torch::empty({0, net.pooled_dim()}, torch::kFloat)};
  for (int64_t done = 0; loader.remaining() > 0;) {
    const Batch batch = loader.next();
    const Upload pixels(pixels_of(batch.parts.front()), net.device());
    rows.push_back(net.pool(net.prepare(pixels.get())).to(torch::kFloat).cpu());
    done += batch.count();
    progress.advance(share.done_by_all(done), "");
  }
  progress.finish();
  net.train(was_training);
  return parts_.ranks.all_gather(torch::cat(rows));
}

void FeatureBank::add(const std::vector<int64_t>& images, const Tensor& values,
                      Rows& rows) const {
  rows.row_of.resize(count_, -1);
  int64_t row = rows.values.defined() ? rows.values.size(0) : 0;
  for (const int64_t image : images) {
    rows.row_of[static_cast<size_t>(image)] = row++;
  }
  rows.values =
      rows.values.defined() ? torch::cat({rows.values, values}) : values;
}

/// Computes those of these images that are not there yet, as for testing.
void FeatureBank::look_at(const std::vector<int64_t>& images,
                          Progress& progress) {
  plain_.row_of.resize(count_, -1);
  std::vector<int64_t> missing;
  for (const int64_t image : images) {
    if (plain_.row_of[static_cast<size_t>(image)] < 0) missing.push_back(image);
  }
  if (missing.empty()) return;
  add(missing, compute(missing, -1, progress), plain_);
}

void FeatureBank::fill(const std::vector<int64_t>& images, Progress& progress) {
  if (parts_.views == 1) {
    look_at(images, progress);
    return;
  }
  std::vector<Tensor> values;
  for (int64_t view = 0; view < parts_.views; ++view) {
    values.push_back(compute(images, view, progress));
  }
  views_ = {};
  add(images, torch::cat(values), views_);
}

int64_t FeatureBank::row_of(const Rows& rows, int64_t image) {
  const int64_t row = rows.row_of.at(static_cast<size_t>(image));
  KITH_ASSERT(row >= 0);
  return row;
}

Tensor FeatureBank::select(const Rows& rows,
                           const std::vector<int64_t>& images) {
  std::vector<int64_t> numbers;
  for (const int64_t image : images) numbers.push_back(row_of(rows, image));
  return rows.values.index_select(0, torch::tensor(numbers, torch::kLong));
}

Tensor FeatureBank::train(const std::vector<int64_t>& images,
                          int64_t first_place, int64_t epoch,
                          int64_t step) const {
  if (parts_.views == 1) return select(plain_, images);
  const int64_t rows_a_view = views_.values.size(0) / parts_.views;
  std::vector<int64_t> numbers;
  for (const int64_t image : images) {
    Rng rng(parts_.seed, Stream::kAugment,
            {epoch, step, first_place + std::ssize(numbers)});
    const auto views = static_cast<uint64_t>(parts_.views);
    const auto view = static_cast<int64_t>(rng.below(views));
    numbers.push_back(view * rows_a_view + row_of(views_, image));
  }
  return views_.values.index_select(0, torch::tensor(numbers, torch::kLong));
}

Tensor FeatureBank::embed(const std::vector<int64_t>& images,
                          Progress& progress) {
  look_at(images, progress);
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> rows = {torch::empty(
      {0, parts_.net.dim()}, torch::TensorOptions(parts_.net.device()))};
  for (const std::vector<int64_t>& some : in_batches(images, parts_.batch)) {
    const Tensor features = select(plain_, some).to(parts_.net.device());
    rows.push_back(parts_.net.head().embed(features));
  }
  const Tensor all = torch::cat(rows);
  const Tensor length = torch::linalg_vector_norm(all, 2, {1});
  if (!(length.isfinite() & (length > 0)).all().item<bool>()) {
    throw RunError(
        "an embedding has a NaN or infinite value, or is all zero: the head is "
        "broken; train with a smaller optimizer.lr or with train.clip_norm");
  }
  return all;
}

EmbeddedSplit FeatureBank::embed(const Evaluator& evaluator,
                                 Progress& progress) {
  EmbeddedSplit split = evaluator.plan();
  const int64_t dim = evaluator.embedding().descriptor.dim_of(parts_.net.dim());
  split.embeddings =
      normalize_rows(embed(split.rows_of, progress).narrow(1, 0, dim));
  return split;
}

int64_t FeatureBank::bytes() const {
  int64_t bytes = 0;
  for (const Tensor& values : {plain_.values, views_.values}) {
    if (values.defined()) bytes += static_cast<int64_t>(values.nbytes());
  }
  return bytes;
}

}  // namespace kith
