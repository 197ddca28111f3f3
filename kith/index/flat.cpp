#include "kith/index/flat.h"

#include <algorithm>
#include <limits>

#include <ATen/Parallel.h>
#include <torch/torch.h>

namespace kith {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

struct Candidate {
  float similarity;
  int64_t index;

  bool operator<(const Candidate& other) const {  // nearer first
    return similarity > other.similarity ||
           (similarity == other.similarity && index < other.index);
  }
};

/// The k best of a stream of candidates that comes in the order of the
/// gallery. Keeps up to 2k and cuts back to k when full, so a candidate costs
/// O(1) on average; one that only equals the k-th best is later in the gallery
/// and cannot enter.
class Best {
 public:
  explicit Best(int64_t k) : k_(static_cast<size_t>(k)) {
    kept_.reserve(2 * k_);
  }

  void offer(float similarity, int64_t index) {
    if (!(similarity > bar_)) return;  // NaN is no candidate
    kept_.push_back({similarity, index});
    if (kept_.size() == 2 * k_) cut();
  }

  const std::vector<Candidate>& sorted() {
    if (kept_.size() > k_) cut();
    std::sort(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  void cut() {
    const auto kth = kept_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(kept_.begin(), kth, kept_.end());
    bar_ = kth->similarity;
    kept_.resize(k_);
  }

  size_t k_;
  float bar_ = kNothing;
  std::vector<Candidate> kept_;
};

/// Rows of a block of similarities, in parallel, into the bests of the rows.
/// The product is in double and rounded here: in float32 a matrix product gives
/// equal vectors slightly different similarities, depending on where in the
/// block they stand, and a tie would not be one.
void offer_block(const Tensor& block, int64_t first_column,
                 const int64_t* exclude, std::vector<Best>& bests) {
  const double* data = block.data_ptr<double>();
  const int64_t columns = block.size(1);
  at::parallel_for(0, block.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      Best& best = bests[static_cast<size_t>(row)];
      const int64_t skip = exclude == nullptr ? -1 : exclude[row];
      for (int64_t j = 0; j < columns; ++j) {
        if (first_column + j == skip) continue;
        best.offer(static_cast<float>(data[row * columns + j]),
                   first_column + j);
      }
    }
  });
}

void write_rows(std::vector<Best>& bests, int64_t first, Neighbours& found) {
  const int64_t k = found.indices.size(1);
  int64_t* indices = found.indices.data_ptr<int64_t>() + first * k;
  float* similarities = found.similarities.data_ptr<float>() + first * k;
  const auto rows = static_cast<int64_t>(bests.size());
  at::parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto& sorted = bests[static_cast<size_t>(row)].sorted();
      for (size_t i = 0; i < sorted.size(); ++i) {
        indices[row * k + static_cast<int64_t>(i)] = sorted[i].index;
        similarities[row * k + static_cast<int64_t>(i)] = sorted[i].similarity;
      }
    }
  });
}

}  // namespace

Neighbours exact_search(const Tensor& queries, const Tensor& gallery,
                        const Tensor& exclude, const SearchOptions& options) {
  TORCH_CHECK_VALUE(queries.dim() == 2 && gallery.dim() == 2 &&
                        queries.size(1) == gallery.size(1),
                    "queries and gallery must be [Q, D] and [N, D], got ",
                    queries.sizes(), " and ", gallery.sizes());
  TORCH_CHECK_VALUE(options.k > 0, "k must be positive, got ", options.k);
  const torch::NoGradGuard no_grad;
  const int64_t k = std::min(options.k, gallery.size(0));
  Neighbours found{torch::full({queries.size(0), k}, -1, torch::kLong),
                   torch::full({queries.size(0), k}, kNothing, torch::kFloat)};
  // Up to 1024 rows: enough for the matrix product to run at full speed.
  const int64_t cells = std::max<int64_t>(options.memory_mb, 1) * (1 << 20) / 8;
  const int64_t rows = std::clamp<int64_t>(cells / 4096, 1, 1024);
  const int64_t columns = std::max<int64_t>(cells / rows, 1);
  for (int64_t q = 0; q < queries.size(0); q += rows) {
    const Tensor part =
        queries.narrow(0, q, std::min(rows, queries.size(0) - q))
            .to(torch::kDouble);
    std::vector<Best> bests(static_cast<size_t>(part.size(0)), Best(k));
    const int64_t* skip =
        exclude.defined() ? exclude.data_ptr<int64_t>() + q : nullptr;
    for (int64_t g = 0; g < gallery.size(0); g += columns) {
      const Tensor block =
          gallery.narrow(0, g, std::min(columns, gallery.size(0) - g))
              .to(torch::kDouble);
      offer_block(torch::mm(part, block.t()).cpu().contiguous(), g, skip,
                  bests);
    }
    write_rows(bests, q, found);
  }
  return found;
}

}  // namespace kith
