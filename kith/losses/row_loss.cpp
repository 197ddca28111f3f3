#include "kith/losses/row_loss.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "kith/core/rng.h"
#include "kith/ops/row_engine.h"
#include "kith/ops/row_replay.h"

namespace kith {

void RowOptions::describe(OptionSet& set) {
  set.add("memory_mb", memory_mb,
          "Budget for blocks of similarities; any batch works within it.")
      .range(1, 1 << 20);
  set.add("products", products,
          "Precision of matrix products on a GPU; tf32 is several times "
          "faster and changes similarities by about 5e-4 (of 8192 unit vectors "
          "or more by about 1e-5), float16 (of unit "
          "vectors) is faster again and changes them by about 1e-5, bf16_split "
          "is nearly as fast as tf32 and changes them by at most 1e-5.")
      .choices({"float32", "tf32", "float16", "bf16_split"});
  set.add("block", block,
          "Most rows and columns of a block of similarities; 0: as memory_mb "
          "allows, up to 4096 on the CPU and 8192 on a GPU, or 2560 and 5120 "
          "with virtual examples.")
      .range(0, 1 << 16);
}

RowLimits RowOptions::limits() const {
  RowLimits limits;
  limits.memory_mb = memory_mb;
  if (products == "tf32") limits.products = RowProducts::kTf32;
  if (products == "float16") limits.products = RowProducts::kFloat16;
  if (products == "bf16_split") limits.products = RowProducts::kBf16Split;
  limits.edge = block;
  return limits;
}

void MixedRowOptions::describe(OptionSet& set) {
  engine.describe(set);
  set.add("simix", simix,
          "Similarity mixup: a virtual example for each pair of positives in "
          "the batch, which acts as query, positive and negative.");
  set.add("simix_limit", simix_limit,
          "Most virtual examples; their number grows with the square of the "
          "class size.")
      .range(0);
}

LossOutput compute_rows(const RowLoss& loss, const LossInput& input,
                        const MixedRowOptions& options, const std::string& row,
                        RowReplay& replay) {
  RowInput rows;
  rows.rows = input.embeddings;
  rows.row_labels = input.labels;
  rows.columns = input.database.embeddings;
  rows.column_labels = input.database.labels;
  rows.self = input.database.self;
  rows.mixed = input.mixed;
  rows.lanes = input.lanes;
  if (options.simix && !rows.mixed.defined()) {
    rows.mixed = random_pairs(input.labels, input.seed, options.simix_limit);
  }
  const RowOutput output =
      differentiable_rows(loss, rows, options.engine.limits(), &replay);
  return {output.value,
          {{row, static_cast<double>(output.rows - output.without_positives)},
           {row + "_without_positives",
            static_cast<double>(output.without_positives)}}};
}

LossOnRows::LossOnRows(MixedRowOptions options, std::function<RowLoss()> make,
                       std::string row, bool euclidean)
    : options_(std::move(options)),
      make_(std::move(make)),
      row_(std::move(row)),
      euclidean_(euclidean),
      replay_(std::make_shared<RowReplay>()) {}

LossOutput LossOnRows::forward(const LossInput& input) const {
  RowLoss loss = make_();
  loss.euclidean = euclidean_;
  return compute_rows(loss, input, options_, row_, *replay_);
}

MixedPairs random_pairs(const Tensor& labels, uint64_t seed, int64_t limit) {
  const Tensor here = labels.cpu().contiguous();
  const int64_t* label = here.data_ptr<int64_t>();
  std::vector<int64_t> order(static_cast<size_t>(here.numel()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return label[a] < label[b]; });
  std::vector<int64_t> pairs;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && label[order[end]] == label[order[begin]]) {
      ++end;
    }
    const auto size = static_cast<int64_t>(end - begin);
    const auto before = static_cast<int64_t>(pairs.size() / 2);
    TORCH_CHECK_VALUE(
        size * (size - 1) / 2 <= limit - before,
        "SiMix makes a virtual example "
        "for every pair of a class, more than simix_limit (",
        limit, ") in this batch: class ", label[order[begin]], " has ", size,
        " examples; use fewer of a class (sampler.per_class), or a larger "
        "simix_limit");
    for (size_t i = begin; i < end; ++i) {
      for (size_t j = i + 1; j < end; ++j) {
        pairs.insert(pairs.end(), {order[i], order[j]});
      }
    }
  }
  const auto count = static_cast<int64_t>(pairs.size() / 2);
  MixedPairs mixed;
  mixed.pairs = torch::tensor(pairs, torch::kLong).view({count, 2});
  mixed.alphas = torch::empty({count}, torch::kDouble);
  Rng rng(seed, Stream::kSimix);
  double* alpha = mixed.alphas.data_ptr<double>();
  for (int64_t i = 0; i < count; ++i) alpha[i] = rng.uniform();
  return mixed;
}

}  // namespace kith
