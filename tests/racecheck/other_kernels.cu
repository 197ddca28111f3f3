// The kernels around the row losses: within classes, SiMix, sorting, ranks,
// neighbours.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kith/ops/class_ops.h"
#include "kith/ops/rank_kernels.h"
#include "kith/ops/select_kernels.h"
#include "kith/ops/small_sort.h"
#include "kith/ops/split_kernels.h"
#include "tests/racecheck/check.h"

namespace kith::racecheck {
namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr double kClose = 1e-4;

/// Similarities and gradients within classes against plain sums.
template <class T>
bool class_pairs_are_right() {
  constexpr int64_t kDim = 37;
  const Classes classes({1, 2, 5, 33, 40});
  const int64_t count = classes.count;
  Shared<int64_t> first(count), last(count), slot(count);
  fill(first, classes.first);
  fill(last, classes.last);
  fill(slot, classes.slot);
  Shared<T> x(count * kDim), s(classes.slots), g(classes.slots);
  Shared<T> dx(count * kDim), dy(count * kDim);
  draw_numbers(x, count * kDim, 1);
  draw_numbers(g, classes.slots, 2);
  ClassPairs<T> pairs;
  pairs.x = pairs.y = x.data();
  pairs.rows = pairs.columns = count;
  pairs.dim = kDim;
  pairs.first = first.data();
  pairs.last = last.data();
  pairs.slot = slot.data();
  const RowLaunch launch{0, count, nullptr};
  const ClassOps<T>& ops = cuda_class_ops<T>();
  ops.similarities(pairs, s.data(), launch);
  ops.row_gradients(pairs, g.data(), /*both_sides=*/true, dx.data(), launch);
  ops.column_gradients(pairs, {first.data(), last.data()}, g.data(), dy.data(),
                       launch);
  finish();
  bool right = true;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < kDim; ++k) {
      double row = 0, column = 0;
      for (int64_t j = first[i]; j < last[i]; ++j) {
        const double gij = g[slot[i] + j - first[i]];
        const double gji = g[slot[j] + i - first[i]];
        row += (gij + gji) * x[j * kDim + k];
        column += gji * x[j * kDim + k];
      }
      right = right && std::abs(row - dx[i * kDim + k]) < kClose &&
              std::abs(column - dy[i * kDim + k]) < kClose;
    }
    for (int64_t j = first[i]; j < last[i]; ++j) {
      double product = 0;
      for (int64_t k = 0; k < kDim; ++k) {
        product += double{x[i * kDim + k]} * double{x[j * kDim + k]};
      }
      right = right && std::abs(product - s[slot[i] + j - first[i]]) < kClose;
    }
  }
  return right;
}

/// Classes of examples, and of these with a virtual example for each pair.
struct Mixtures {
  Classes examples;
  Classes items;
  Matrix share;  ///< [items][examples]
  Shared<int64_t> one, two, start, children;
  Shared<double> alpha, child_share;

  static std::vector<int64_t> with_pairs(std::vector<int64_t> sizes) {
    for (int64_t& size : sizes) size += size * (size - 1) / 2;
    return sizes;
  }

  explicit Mixtures(const std::vector<int64_t>& sizes)
      : examples(sizes),
        items(with_pairs(sizes)),
        share(static_cast<size_t>(items.count),
              std::vector<double>(static_cast<size_t>(examples.count))),
        one(items.count),
        two(items.count),
        start(examples.count + 1),
        children(2 * items.count),
        alpha(items.count),
        child_share(2 * items.count) {
    Numbers numbers(3);
    int64_t p = 0;
    const auto add = [&](int64_t i, int64_t j, double a) {
      one[p] = i;
      two[p] = j;
      alpha[p] = a;
      share[static_cast<size_t>(p)][static_cast<size_t>(i)] += a;
      share[static_cast<size_t>(p)][static_cast<size_t>(j)] += 1 - a;
      ++p;
    };
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      for (int64_t i = begin; i < begin + size; ++i) add(i, i, 1);
      for (int64_t i = begin; i < begin + size; ++i) {
        for (int64_t j = i + 1; j < begin + size; ++j) {
          add(i, j, 0.5 + numbers.next() / 2);
        }
      }
      begin += size;
    }
    int64_t entries = 0;
    for (int64_t k = 0; k < examples.count; ++k) {
      start[k] = entries;
      for (int64_t q = 0; q < items.count; ++q) {
        const double part =
            share[static_cast<size_t>(q)][static_cast<size_t>(k)];
        if (part == 0) continue;
        children[entries] = q;
        child_share[entries++] = part;
      }
    }
    start[examples.count] = entries;
  }

  MixedItems all() const {
    return {examples.count,
            items.count,
            one.data(),
            two.data(),
            alpha.data(),
            start.data(),
            children.data(),
            child_share.data(),
            0,
            0};
  }
};

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b[0].size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < b.size(); ++k) {
      for (size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}
Matrix turned(const Matrix& a) {
  Matrix t(a[0].size(), std::vector<double>(a.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  }
  return t;
}

template <class T>
bool is_close(const Shared<T>& got, int64_t stride, const Matrix& expected) {
  bool close = true;
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t j = 0; j < expected[0].size(); ++j) {
      const double x =
          got[static_cast<int64_t>(i) * stride + static_cast<int64_t>(j)];
      close = close && std::abs(x - expected[i][j]) < kClose;
    }
  }
  return close;
}

/// mixed = A S A^T and tile = A^T G A.
template <class T>
bool mixing_is_right() {
  const Mixtures mix({1, 2, 3, 5, 6});
  const int64_t m = mix.examples.count;
  const int64_t n = mix.items.count;
  Shared<T> tile(m * m), mixed(n * n);
  draw_numbers(tile, m * m, 4);
  Matrix s(static_cast<size_t>(m), std::vector<double>(static_cast<size_t>(m)));
  for (int64_t i = 0; i < m * m; ++i) {
    s[static_cast<size_t>(i / m)][static_cast<size_t>(i % m)] = tile[i];
  }
  const ClassOps<T>& ops = cuda_class_ops<T>();
  const Tile<T> small{tile.data(), m, 0, m, 0, m};
  const Tile<T> large{mixed.data(), n, 0, n, 0, n};
  ops.mix_tile(mix.all(), mix.all(), small, large, {0, n, nullptr});
  finish();
  const Matrix expected = product(product(mix.share, s), turned(mix.share));
  bool right = is_close(mixed, n, expected);
  ops.unmix_tile(mix.all(), mix.all(), large, small, {0, m, nullptr});
  finish();
  return right &&
         is_close(tile, m,
                  product(product(turned(mix.share), expected), mix.share));
}

/// The same within classes, of ones.
template <class T>
bool slots_are_right() {
  const Mixtures mix({1, 2, 3, 5, 6});
  const Classes& of = mix.examples;
  const Classes& to = mix.items;
  Shared<int64_t> first(of.count), last(of.count), slot(of.count);
  Shared<int64_t> item_first(to.count), item_last(to.count),
      item_slot(to.count);
  fill(first, of.first);
  fill(last, of.last);
  fill(slot, of.slot);
  fill(item_first, to.first);
  fill(item_last, to.last);
  fill(item_slot, to.slot);
  Shared<T> examples(of.slots), items(to.slots);
  for (int64_t i = 0; i < of.slots; ++i) examples[i] = 1;
  const MixedSlots<T> slots{
      examples.data(), first.data(),      last.data(),      slot.data(),
      items.data(),    item_first.data(), item_last.data(), item_slot.data()};
  const ClassOps<T>& ops = cuda_class_ops<T>();
  ops.mix_slots(mix.all(), slots, {0, to.count, nullptr});
  finish();
  bool right = true;  // shares sum to one
  for (int64_t i = 0; i < to.slots; ++i) {
    right = right && std::abs(items[i] - 1) < kClose;
  }
  ops.unmix_slots(mix.all(), slots, {0, of.count, nullptr});
  finish();
  // Of ones: how much of each other's children two examples are.
  const auto amount = [&](int64_t k) {
    double sum = 0;
    for (const std::vector<double>& row : mix.share) {
      sum += row[static_cast<size_t>(k)];
    }
    return sum;
  };
  for (int64_t k = 0; k < of.count; ++k) {
    for (int64_t l = first[k]; l < last[k]; ++l) {
      const double got = examples[slot[k] + l - first[k]];
      right = right && std::abs(got - amount(k) * amount(l)) < kClose;
    }
  }
  return right;
}

bool sorting_is_right() {
  constexpr int64_t kCount = 300;
  Shared<int64_t> labels(kCount), order(kCount), first(kCount), last(kCount);
  Shared<int64_t> slot(kCount), facts(3);
  for (int64_t i = 0; i < kCount; ++i) labels[i] = i * 7 % 23 - 5;
  sort_small_batch({labels.data(), kCount, order.data(), first.data(),
                    last.data(), slot.data(), facts.data()},
                   nullptr);
  finish();
  bool right = true;
  for (int64_t i = 0; i < kCount; ++i) {
    right = right && first[i] <= i && i < last[i];
    if (i > 0) right = right && labels[order[i - 1]] <= labels[order[i]];
  }
  return right;
}

/// Counts among `wanted` items a query: a few are held in registers, more are
/// searched, and their places counted in shared memory. With a slack of 100 all
/// items wait for their exact similarities, more than there is room for.
bool counts_are_right(int64_t wanted, float slack_of_all) {
  constexpr int64_t kQueries = 3;
  constexpr int64_t kItems = 5001;
  constexpr int64_t kDim = 4;
  Shared<float> queries(kQueries * kDim), gallery(kItems * kDim);
  draw_numbers(queries, kQueries * kDim, 5);
  draw_numbers(gallery, kItems * kDim, 6);
  Shared<float> similarity(kQueries * kItems), slack(kQueries);
  const auto dot = [&](int64_t q, int64_t i) {
    double sum = 0;
    for (int64_t k = 0; k < kDim; ++k) {
      sum += double{queries[q * kDim + k]} * double{gallery[i * kDim + k]};
    }
    return static_cast<float>(sum);
  };
  const auto is_nearer = [&](int64_t q, int64_t i, int64_t than) {
    const float a = dot(q, i), b = dot(q, than);
    return a > b || (a == b && i < than);
  };
  Shared<int64_t> offsets(kQueries + 1), items(kQueries * wanted);
  Shared<int64_t> count(kQueries * wanted);
  Shared<float> threshold(kQueries * wanted);
  for (int64_t q = 0; q < kQueries; ++q) {
    for (int64_t i = 0; i < kItems; ++i) similarity[q * kItems + i] = dot(q, i);
    slack[q] = slack_of_all;
    offsets[q + 1] = (q + 1) * wanted;
    int64_t* first = items.data() + q * wanted;
    for (int64_t j = 0; j < wanted; ++j) first[j] = 10 * q + 13 * j;
    // The farthest first.
    std::sort(first, first + wanted,
              [&](int64_t a, int64_t b) { return is_nearer(q, b, a); });
    for (int64_t j = 0; j < wanted; ++j) {
      threshold[q * wanted + j] = dot(q, first[j]);
    }
  }
  RankBlock block;
  block.similarity = similarity.data();
  block.query_stride = kItems;
  block.items = kItems;
  block.queries = queries.data();
  block.gallery = gallery.data();
  block.dim = kDim;
  block.slack = slack.data();
  block.offsets = offsets.data();
  block.threshold = threshold.data();
  block.wanted = items.data();
  block.count = count.data();
  cuda_ranks.count(block, {0, kQueries, nullptr});
  finish();
  bool right = true;
  for (int64_t q = 0; q < kQueries; ++q) {
    int64_t nearer = 0;  // summed up from the last
    for (int64_t j = wanted; j-- > 0;) {
      nearer += count[q * wanted + j];
      int64_t expected = 0;
      for (int64_t i = 0; i < kItems; ++i) {
        expected += is_nearer(q, i, items[q * wanted + j]);
      }
      right = right && nearer == expected;
    }
  }
  return right;
}

bool ranks_are_right() {
  for (const int64_t wanted : {1, 9, 40}) {
    if (!counts_are_right(wanted, 1e-6F)) return false;
    if (!counts_are_right(wanted, 100)) return false;
  }
  return true;
}

/// Of every item with a query.
bool similarities_are_right() {
  constexpr int64_t kItems = 700;
  constexpr int64_t kDim = 37;
  Shared<float> query(kDim), gallery(kItems * kDim), similarity(kItems);
  Shared<int64_t> first(kItems), item(kItems);
  draw_numbers(query, kDim, 5);
  draw_numbers(gallery, kItems * kDim, 6);
  for (int64_t i = 0; i < kItems; ++i) item[i] = kItems - 1 - i;
  RowPairs pairs;
  pairs.x = query.data();
  pairs.y = gallery.data();
  pairs.dim = kDim;
  pairs.x_row = first.data();
  pairs.y_row = item.data();
  pairs.similarity = similarity.data();
  cuda_ranks.similarities(pairs, {0, kItems, nullptr});
  finish();
  bool right = true;
  for (int64_t i = 0; i < kItems; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < kDim; ++k) {
      sum += double{query[k]} * double{gallery[item[i] * kDim + k]};
    }
    right = right && std::abs(similarity[i] - sum) < kClose;
  }
  return right;
}

/// What select() finds in two blocks of a gallery. Every other item is a copy
/// of the first query: more than the kernel's list takes are equally near.
std::vector<std::pair<float, int64_t>> nearest_of(
    void (*select)(const SelectBlock&, const RowLaunch&), int64_t k) {
  constexpr int64_t kQueries = 2;
  constexpr int64_t kItems = 5001;
  constexpr int64_t kDim = 11;
  Shared<float> queries(kQueries * kDim), gallery(kItems * kDim);
  draw_numbers(queries, kQueries * kDim, 7);
  draw_numbers(gallery, kItems * kDim, 8);
  for (int64_t i = 0; i < kItems; i += 2) {
    for (int64_t d = 0; d < kDim; ++d) gallery[i * kDim + d] = queries[d];
  }
  constexpr int64_t kStride = kItems + 3;
  Shared<float> similarity(kQueries * kStride), slack(kQueries);
  Shared<int64_t> exclude(kQueries), position(kQueries * k);
  Shared<float> nearest(kQueries * k);
  for (int64_t q = 0; q < kQueries; ++q) {
    slack[q] = 2e-5F;
    exclude[q] = 2 * q;
  }
  for (int64_t i = 0; i < kQueries * k; ++i) {
    nearest[i] = -INFINITY;
    position[i] = -1;
  }
  const auto take = [&](int64_t first, int64_t items) {
    for (int64_t q = 0; q < kQueries; ++q) {
      for (int64_t i = 0; i < items; ++i) {
        float sum = 0;
        for (int64_t d = 0; d < kDim; ++d) {
          sum += queries[q * kDim + d] * gallery[(first + i) * kDim + d];
        }
        similarity[q * kStride + i] = sum;
      }
    }
    SelectBlock block;
    block.similarity = similarity.data();
    block.query_stride = kStride;
    block.items = items;
    block.item0 = first;
    block.queries = queries.data();
    block.gallery = gallery.data() + first * kDim;
    block.dim = kDim;
    block.exclude = exclude.data();
    block.slack = slack.data();
    block.k = k;
    block.nearest = nearest.data();
    block.position = position.data();
    select(block, {0, kQueries, nullptr});
    finish();
  };
  take(0, 4998);
  take(4998, 3);
  std::vector<std::pair<float, int64_t>> found;
  for (int64_t i = 0; i < kQueries * k; ++i) {
    found.emplace_back(nearest[i], position[i]);
  }
  return found;
}

bool selection_is_right() {
  for (const int64_t k : {1, 10, 600}) {
    if (nearest_of(select_on_cuda, k) != nearest_of(select_on_cpu, k)) {
      return false;
    }
  }
  return true;
}

/// Rows split by both processors, as queries and as items.
bool splitting_is_right() {
  constexpr int64_t kRowCount = 11;
  constexpr int64_t kDim = 77;
  constexpr int64_t kWidth = 232;
  Shared<float> x(kRowCount * kDim);
  draw_numbers(x, kRowCount * kDim, 9);
  bool right = true;
  for (const bool low_first : {true, false}) {
    Shared<Bf16> joined[2] = {Shared<Bf16>(kRowCount * kWidth),
                              Shared<Bf16>(kRowCount * kWidth)};
    Shared<double> left[2] = {Shared<double>(kRowCount * 2),
                              Shared<double>(kRowCount * 2)};
    for (const bool on_cuda : {true, false}) {
      SplitBlock block;
      block.x = x.data();
      block.dim = kDim;
      block.joined = joined[on_cuda].data();
      block.width = kWidth;
      block.low_first = low_first;
      block.left = left[on_cuda].data();
      const RowLaunch all{0, kRowCount, nullptr};
      on_cuda ? split_on_cuda(block, all) : split_on_cpu(block, all);
      finish();
    }
    for (int64_t i = 0; i < kRowCount * kWidth; ++i) {
      right = right && joined[0][i].bits == joined[1][i].bits;
    }
    for (int64_t i = 0; i < kRowCount * 2; ++i) {
      right = right && std::abs(left[0][i] - left[1][i]) <= 1e-12 * left[0][i];
    }
  }
  return right;
}

[[maybe_unused]] const bool kAdded[] = {
    add_check("class pairs float32", class_pairs_are_right<float>),
    add_check("class pairs float64", class_pairs_are_right<double>),
    add_check("mixed tiles float32", mixing_is_right<float>),
    add_check("mixed tiles float64", mixing_is_right<double>),
    add_check("mixed slots float32", slots_are_right<float>),
    add_check("mixed slots float64", slots_are_right<double>),
    add_check("sorting", sorting_is_right),
    add_check("ranks", ranks_are_right),
    add_check("similarities of pairs", similarities_are_right),
    add_check("selection", selection_is_right),
    add_check("splitting of rows", splitting_is_right)};

}  // namespace
}  // namespace kith::racecheck
