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

#include "kith/eval/class_index.h"
#include "kith/index/row_blocks.h"
#include "kith/index/tell_others.h"

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

/// The pairs of a block of similarities: queries from `first_query` on, items
/// from `first_item` on.
struct PairBlock {
  Tensor similarities;  ///< [q, n] float32 on the CPU.
  int64_t first_query = 0;
  int64_t first_item = 0;
};

/// Calls visit(block) for blocks that hold all pairs, which ranks take in
/// turns. Among themselves, blocks below the diagonal are left out.
template <class Visit>
void for_each_pair_block(const ScoredSet& set, const Visit& visit) {
  const int64_t dim = set.gallery.dim();
  // A similarity in double and float32, on a GPU also a copy; rows in double.
  const int64_t cells = rows_within(set.memory_mb, 16);
  const int64_t rows = std::clamp<int64_t>(cells / 4096, 1, 1024);
  const int64_t columns =
      std::max<int64_t>((cells - rows * dim) / (rows + dim), 1);
  const bool among_themselves = set.queries.same_as(set.gallery);
  const Communicator& ranks = or_alone(set.ranks);
  int64_t turn = 0;
  for_each_block(set.queries, rows, [&](int64_t q, const Tensor& part) {
    const Tensor queries = part.to(torch::kDouble);
    const int64_t count = set.gallery.count();
    for (int64_t g = among_themselves ? q : 0; g < count; g += columns) {
      // All read it: they may have a part of it each.
      const Tensor items = set.gallery.read(g, std::min(columns, count - g));
      if (turn++ % ranks.size() != ranks.rank()) continue;
      const Tensor products =
          torch::mm(queries, items.to(torch::kDouble).t()).to(torch::kFloat);
      visit(PairBlock{products.to(torch::kCPU).contiguous(), q, g});
    }
  });
}

/// Counts the pairs of a block whose upper half `bin_of` maps to a bin.
class PairCounter {
 public:
  explicit PairCounter(const ScoredSet& set)
      : query_labels_(label_vector(set.query_labels)),
        gallery_labels_(label_vector(set.gallery_labels)),
        self_(set.self.defined() ? set.self.contiguous() : Tensor()),
        among_themselves_(set.queries.same_as(set.gallery)) {}

  /// bin_of(ordered bits) is a bin, or kBins for a pair that does not count.
  template <class BinOf>
  void count(const PairBlock& block, const BinOf& bin_of,
             PairHistogram& total) const {
    std::mutex mutex;
    at::parallel_for(0, block.similarities.size(0), kGrain,
                     [&](int64_t begin, int64_t end) {
                       PairHistogram own = empty_histogram();
                       for (int64_t row = begin; row < end; ++row) {
                         count_row(block, row, bin_of, own);
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

  template <class BinOf>
  void count_row(const PairBlock& block, int64_t row, const BinOf& bin_of,
                 PairHistogram& own) const {
    const int64_t columns = block.similarities.size(1);
    const float* values = block.similarities.data_ptr<float>() + row * columns;
    const int64_t query = block.first_query + row;
    const int64_t label = query_labels_[static_cast<size_t>(query)];
    const int64_t* labels = gallery_labels_.data() + block.first_item;
    const int64_t skip =
        self_.defined() ? self_.data_ptr<int64_t>()[query] - block.first_item
                        : -1;
    const int64_t first =
        among_themselves_ ? std::max<int64_t>(query + 1 - block.first_item, 0)
                          : 0;
    for (int64_t j = first; j < columns; ++j) {
      if (j == skip) continue;
      const size_t bin = bin_of(ordered_bits(values[j]));
      if (bin == kBins) continue;
      ++(labels[j] == label ? own.positives : own.negatives)[bin];
    }
  }

  std::vector<int64_t> query_labels_;
  std::vector<int64_t> gallery_labels_;
  Tensor self_;
  bool among_themselves_;
};

/// Adds what the others have counted.
void add_others(Communicator& ranks, std::vector<int64_t>& counts) {
  const Tensor sums = ranks.all_reduce(torch::tensor(counts, torch::kLong));
  const int64_t* data = sums.data_ptr<int64_t>();
  counts.assign(data, data + sums.numel());
}

template <class BinOf>
PairHistogram histogram(const ScoredSet& set, const BinOf& bin_of) {
  const torch::NoGradGuard no_grad;
  const PairCounter counter(set);
  PairHistogram total = PairCounter::empty_histogram();
  for_each_pair_block(set, [&](const PairBlock& block) {
    counter.count(block, bin_of, total);
  });
  Communicator& ranks = or_alone(set.ranks);
  if (ranks.size() > 1) {
    add_others(ranks, total.positives);
    add_others(ranks, total.negatives);
  }
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
