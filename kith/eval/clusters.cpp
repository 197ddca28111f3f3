#include "kith/eval/clusters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "kith/core/error.h"
#include "kith/eval/class_index.h"
#include "kith/eval/kmeans.h"

namespace kith {
namespace {

double entropy(const std::vector<int64_t>& sizes, int64_t items) {
  double sum = 0;
  for (const int64_t size : sizes) {
    const double p = static_cast<double>(size) / static_cast<double>(items);
    sum -= p * std::log(p);
  }
  return sum;
}

double mutual_information(const Contingency& table) {
  const auto items = static_cast<double>(table.items);
  double sum = 0;
  for (const Contingency::Cell& cell : table.cells) {
    const auto n = static_cast<double>(cell.count);
    const auto a = static_cast<double>(
        table.classes[static_cast<size_t>(cell.class_index)]);
    const auto b = static_cast<double>(
        table.clusters[static_cast<size_t>(cell.cluster_index)]);
    sum += n / items * std::log(items / a * n / b);
  }
  return sum;
}

double log_factorial(int64_t n) {
  return std::lgamma(static_cast<double>(n) + 1);
}

/// What a class of size a and a cluster of size b add to the expected mutual
/// information: the sum over n of (n / N) log(N n / (a b)) with the
/// hypergeometric probability of n items in common.
double expected_cell(int64_t a, int64_t b, int64_t items) {
  const double fixed = log_factorial(a) + log_factorial(b) +
                       log_factorial(items - a) + log_factorial(items - b) -
                       log_factorial(items);
  const auto all = static_cast<double>(items);
  const double scale = all / static_cast<double>(a) / static_cast<double>(b);
  double sum = 0;
  for (int64_t n = std::max<int64_t>(1, a + b - items); n <= std::min(a, b);
       ++n) {
    const double log_probability = fixed - log_factorial(n) -
                                   log_factorial(a - n) - log_factorial(b - n) -
                                   log_factorial(items - a - b + n);
    const auto count = static_cast<double>(n);
    sum += count / all * std::log(scale * count) * std::exp(log_probability);
  }
  return sum;
}

/// How often each size occurs.
std::map<int64_t, int64_t> frequencies(const std::vector<int64_t>& sizes) {
  std::map<int64_t, int64_t> counts;
  for (const int64_t size : sizes) ++counts[size];
  return counts;
}

/// Equal sizes are done once: there are at most sqrt(2 N) different ones.
double expected_mutual_information(const Contingency& table) {
  double sum = 0;
  for (const auto& [a, classes] : frequencies(table.classes)) {
    for (const auto& [b, clusters] : frequencies(table.clusters)) {
      sum += static_cast<double>(classes) * static_cast<double>(clusters) *
             expected_cell(a, b, table.items);
    }
  }
  return sum;
}

bool same_partitions(const Contingency& table) {
  return table.cells.size() == table.classes.size() &&
         table.cells.size() == table.clusters.size();
}

double pairs_within(int64_t size) {
  return static_cast<double>(size) * static_cast<double>(size - 1) / 2;
}

double pairs_within(const std::vector<int64_t>& sizes) {
  double sum = 0;
  for (const int64_t size : sizes) sum += pairs_within(size);
  return sum;
}

std::vector<int64_t> clusters_of(const ScoredSet& set) {
  if (set.clusters.defined()) {
    if (set.clusters.numel() != set.gallery.count()) {
      throw DataError("there are " + std::to_string(set.clusters.numel()) +
                      " cluster assignments for " +
                      std::to_string(set.gallery.count()) +
                      " items; one for each item is needed");
    }
    return label_vector(set.clusters);
  }
  KMeansOptions options;
  options.clusters = index_classes(set.gallery_labels).classes();
  options.seed = set.seed;
  options.memory_mb = set.memory_mb;
  return kmeans(set.gallery, options);
}

}  // namespace

Contingency contingency(const std::vector<int64_t>& classes,
                        const std::vector<int64_t>& clusters) {
  KITH_ASSERT(classes.size() == clusters.size());
  ClassIndex by_class = index_classes(classes);
  ClassIndex by_cluster = index_classes(clusters);
  std::vector<std::pair<int64_t, int64_t>> items;
  items.reserve(classes.size());
  for (size_t i = 0; i < classes.size(); ++i) {
    items.emplace_back(by_class.of_item[i], by_cluster.of_item[i]);
  }
  std::sort(items.begin(), items.end());
  Contingency table;
  table.items = static_cast<int64_t>(items.size());
  table.classes = std::move(by_class.sizes);
  table.clusters = std::move(by_cluster.sizes);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i == 0 || items[i] != items[i - 1]) {
      table.cells.push_back({items[i].first, items[i].second, 0});
    }
    ++table.cells.back().count;
  }
  return table;
}

double normalized_mutual_information(const Contingency& table) {
  if (same_partitions(table)) return 1;
  return 2 * mutual_information(table) /
         (entropy(table.clusters, table.items) +
          entropy(table.classes, table.items));
}

double adjusted_mutual_information(const Contingency& table) {
  if (same_partitions(table)) return 1;
  const double expected = expected_mutual_information(table);
  const double mean = (entropy(table.clusters, table.items) +
                       entropy(table.classes, table.items)) /
                      2;
  const double information = mutual_information(table);
  // Beyond chance there is nothing, and rounding must not make it something.
  constexpr double kNothing = 1e-12;
  if (std::abs(information - expected) < kNothing) return 0;
  return (information - expected) / (mean - expected);
}

double pair_f1(const Contingency& table) {
  double both = 0;
  for (const Contingency::Cell& cell : table.cells) {
    both += pairs_within(cell.count);
  }
  const double either =
      pairs_within(table.classes) + pairs_within(table.clusters);
  if (either == 0) return std::numeric_limits<double>::quiet_NaN();
  return 2 * both / either;
}

const Contingency& clustering(const ScoredSet& set) {
  return set.cache->get<Contingency>([&] {
    return contingency(label_vector(set.gallery_labels), clusters_of(set));
  });
}

}  // namespace kith
