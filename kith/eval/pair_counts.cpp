#include "kith/eval/pair_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/eval/pair_blocks.h"

namespace kith {
namespace {

constexpr uint32_t kHalf = 16;  // bits
constexpr size_t kBins = size_t{1} << kHalf;

/// Numbers of pairs of one class and of two by similarity, in 2^16 ranges of
/// float32 numbers that follow each other.
struct PairHistogram {
  std::vector<int64_t> positives;
  std::vector<int64_t> negatives;
};

/// Integers in the order of the numbers.
uint32_t ordered_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value + 0.0F);  // -0 becomes 0.
  constexpr uint32_t kSign = 0x80000000U;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

/// Counts the pairs of a block whose upper half `bin_of` maps to a bin.
class PairCounter {
 public:
  explicit PairCounter(const ScoredSet& set) : rows_(set) {}

  /// bin_of(ordered bits) is a bin, or kBins for a pair that does not count.
  template <class BinOf>
  void count(const PairBlock& block, const BinOf& bin_of,
             PairHistogram& total) const {
    std::mutex mutex;
    at::parallel_for(
        0, block.similarities.size(0), kGrain, [&](int64_t begin, int64_t end) {
          PairHistogram own = empty_histogram();
          for (int64_t row = begin; row < end; ++row) {
            rows_.visit(block, row, [&](const Pair& pair) {
              const size_t bin = bin_of(ordered_bits(pair.similarity));
              if (bin == kBins) return;
              ++(pair.is_positive ? own.positives : own.negatives)[bin];
            });
          }
          const std::lock_guard<std::mutex> lock(mutex);
          add(own.positives, total.positives);
          add(own.negatives, total.negatives);
        });
  }

  static PairHistogram empty_histogram() {
    return {std::vector<int64_t>(kBins), std::vector<int64_t>(kBins)};
  }

 private:
  static constexpr int64_t kGrain = 64;  // Rows; a thread's bins are large.

  static void add(const std::vector<int64_t>& from, std::vector<int64_t>& to) {
    std::transform(from.begin(), from.end(), to.begin(), to.begin(),
                   std::plus<>());
  }

  PairRows rows_;
};

template <class BinOf>
PairHistogram histogram(const ScoredSet& set, const BinOf& bin_of) {
  const torch::NoGradGuard no_grad;
  const PairCounter counter(set);
  PairHistogram total = PairCounter::empty_histogram();
  for_each_pair_block(set, [&](const PairBlock& block) {
    counter.count(block, bin_of, total);
  });
  add_counts_of_others(set.ranks, total.positives);
  add_counts_of_others(set.ranks, total.negatives);
  return total;
}

PairHistogram upper_histogram(const ScoredSet& set) {
  return histogram(set, [](uint32_t bits) { return size_t{bits >> kHalf}; });
}

/// Of the pairs in one bin of the upper histogram.
PairHistogram lower_histogram(const ScoredSet& set, size_t upper_bin) {
  return histogram(set, [upper_bin](uint32_t bits) {
    return size_t{bits >> kHalf} == upper_bin ? size_t{bits & (kBins - 1)}
                                              : kBins;
  });
}

int64_t sum(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

/// The largest n with n / count <= share.
int64_t allowed(double share, int64_t count) {
  const auto all = static_cast<double>(count);
  auto n = static_cast<int64_t>(std::floor(share * all));
  while (n < count && static_cast<double>(n + 1) / all <= share) ++n;
  while (n > 0 && static_cast<double>(n) / all > share) --n;
  return n;
}

/// Walks down from the most similar pairs while negatives are allowed.
struct Walk {
  int64_t negatives_left;
  int64_t accepted = 0;  ///< Positives.

  /// The bin whose negatives are too many, and which is not accepted.
  size_t stop(const PairHistogram& counts) {
    size_t bin = kBins;
    while (bin > 0 && counts.negatives[bin - 1] <= negatives_left) {
      --bin;
      negatives_left -= counts.negatives[bin];
      accepted += counts.positives[bin];
    }
    return bin - 1;
  }
};

}  // namespace

double true_acceptance_rate(const ScoredSet& set, double far) {
  const PairHistogram& upper =
      set.cache->get<PairHistogram>([&] { return upper_histogram(set); });
  const int64_t positives = sum(upper.positives);
  const int64_t negatives = sum(upper.negatives);
  if (positives == 0 || negatives == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  Walk walk{allowed(far, negatives)};
  if (walk.negatives_left == negatives) return 1;
  const size_t bin = walk.stop(upper);
  walk.stop(lower_histogram(set, bin));
  return static_cast<double>(walk.accepted) / static_cast<double>(positives);
}

}  // namespace kith
