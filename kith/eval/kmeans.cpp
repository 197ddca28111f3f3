#include "kith/eval/kmeans.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <torch/torch.h>

#include "kith/core/draw.h"
#include "kith/core/error.h"
#include "kith/index/row_blocks.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Rows that the first centres lie on, rising.
std::vector<int64_t> first_centres(int64_t rows, int64_t clusters,
                                   uint64_t seed) {
  Rng rng(seed, Stream::kCluster);
  std::vector<int64_t> drawn = draw_distinct(rows, clusters, rng);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

class KMeans {
 public:
  KMeans(const Rows& rows, const KMeansOptions& options)
      : rows_(rows), clusters_(options.clusters) {
    // Scores in float32, and of a quarter of the rows also in double; the row
    // and its centre in double.
    const int64_t row_bytes = 8 * clusters_ + 24 * rows.dim();
    block_ = std::min<int64_t>(rows_within(options.memory_mb, row_bytes), 8192);
    centres_ = gather_rows(
        rows, first_centres(rows.count(), clusters_, options.seed), block_);
    nearest_ = torch::full({rows.count()}, -1, torch::kLong);
  }

  /// One round; false if no row changed its cluster.
  bool step() {
    const Tensor before = nearest_.clone();
    assign();
    const std::vector<int64_t> empty = empty_clusters();
    if (!empty.empty()) fill(empty);
    if (torch::equal(before, nearest_)) return false;
    move_centres();
    return true;
  }

  std::vector<int64_t> result() const {
    const int64_t* data = nearest_.data_ptr<int64_t>();
    return {data, data + nearest_.numel()};
  }

 private:
  /// |x - c|^2 = |x|^2 - 2 (x c - |c|^2 / 2): the nearest centre has the
  /// largest score x c - |c|^2 / 2.
  void assign() {
    const Tensor exact = centres_.to(torch::kDouble);
    const Tensor half_norms = exact.square().sum(1).div(2);
    const Tensor rounded_norms = half_norms.to(torch::kFloat);
    // Twice the most by which a sum of D products of unit vectors and the norm
    // can be off in float32, in any order of summation, and a little more.
    const double doubt = static_cast<double>(rows_.dim() + 8) * 0x1p-23;
    for_each_block(rows_, block_, [&](int64_t first, const Tensor& block) {
      Tensor scores = torch::mm(block, centres_.t()).sub_(rounded_norms);
      auto [best, index] = scores.max(1);
      scores.scatter_(1, index.unsqueeze(1), -kInfinity);
      const Tensor doubtful = (best - scores.amax(1)).le(doubt).nonzero();
      const int64_t share = std::max<int64_t>(block.size(0) / 4, 1);
      for (const Tensor& part : doubtful.flatten().split(share)) {
        if (part.numel() == 0) continue;
        const Tensor x = block.index_select(0, part).to(torch::kDouble);
        // Rounded, so that equal centres have equal scores.
        const Tensor again =
            torch::mm(x, exact.t()).sub_(half_norms).to(torch::kFloat);
        index.index_copy_(0, part, again.argmax(1));  // The first of equals.
      }
      nearest_.narrow(0, first, block.size(0)).copy_(index);
    });
  }

  std::vector<int64_t> counts() const {
    std::vector<int64_t> counts(static_cast<size_t>(clusters_));
    for (const int64_t cluster : result()) {
      ++counts[static_cast<size_t>(cluster)];
    }
    return counts;
  }

  std::vector<int64_t> empty_clusters() const {
    const std::vector<int64_t> sizes = counts();
    std::vector<int64_t> empty;
    for (int64_t c = 0; c < clusters_; ++c) {
      if (sizes[static_cast<size_t>(c)] == 0) empty.push_back(c);
    }
    return empty;
  }

  /// [N] squared distances of the rows to their centres.
  std::vector<float> distances() const {
    Tensor all = torch::empty({rows_.count()}, torch::kFloat);
    for_each_block(rows_, block_, [&](int64_t first, const Tensor& block) {
      const Tensor own = nearest_.narrow(0, first, block.size(0));
      const Tensor centres =
          centres_.index_select(0, own.to(centres_.device()));
      all.narrow(0, first, block.size(0))
          .copy_((block.to(torch::kDouble) - centres).square_().sum(1));
    });
    const float* data = all.data_ptr<float>();
    return {data, data + all.numel()};
  }

  /// Gives each empty cluster the row farthest from its centre, of those that
  /// are not alone in theirs. Rows that lie on their centre stay: then the
  /// cluster remains empty.
  void fill(const std::vector<int64_t>& empty) {
    const std::vector<float> far = distances();
    std::vector<int64_t> order(far.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return far[static_cast<size_t>(a)] > far[static_cast<size_t>(b)];
    });
    std::vector<int64_t> sizes = counts();
    int64_t* nearest = nearest_.data_ptr<int64_t>();
    auto next = empty.begin();
    for (const int64_t row : order) {
      if (next == empty.end() || far[static_cast<size_t>(row)] <= 0) return;
      int64_t& own = nearest[row];
      if (sizes[static_cast<size_t>(own)] < 2) continue;
      --sizes[static_cast<size_t>(own)];
      own = *next++;
    }
  }

  /// To the means of their rows; the centre of an empty cluster stays.
  void move_centres() {
    const auto options = centres_.options().dtype(torch::kDouble);
    Tensor sums = torch::zeros({clusters_, rows_.dim()}, options);
    for_each_block(rows_, block_, [&](int64_t first, const Tensor& block) {
      const Tensor own = nearest_.narrow(0, first, block.size(0));
      sums.index_add_(0, own.to(centres_.device()), block.to(torch::kDouble));
    });
    const Tensor sizes =
        torch::tensor(counts(), torch::kLong).to(options).unsqueeze(1);
    centres_ = torch::where(sizes > 0, sums / sizes.clamp_min(1),
                            centres_.to(torch::kDouble))
                   .to(torch::kFloat);
  }

  Rows rows_;
  int64_t clusters_;
  int64_t block_ = 1;
  Tensor centres_;  ///< [K, D] float32
  Tensor nearest_;  ///< [N] int64 on the CPU; -1 before the first round.
};

}  // namespace

std::vector<int64_t> kmeans(const Rows& rows, const KMeansOptions& options) {
  KITH_ASSERT(options.clusters > 0 && options.clusters <= rows.count());
  const torch::NoGradGuard no_grad;
  const ProductPrecision precision(/*tf32=*/false);
  KMeans algorithm(rows, options);
  for (int64_t i = 0; i < options.iterations && algorithm.step(); ++i) {
  }
  return algorithm.result();
}

}  // namespace kith
