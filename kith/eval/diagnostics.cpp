#include "kith/eval/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <torch/torch.h>

#include "kith/eval/query_diagnosis.h"

namespace kith {
namespace {

std::vector<int64_t> to_vector(const Tensor& labels) {
  if (!labels.defined()) return {};
  const Tensor plain = labels.contiguous();
  const int64_t* begin = plain.data_ptr<int64_t>();
  return {begin, begin + plain.numel()};
}

std::vector<int64_t> hardest_queries(const std::vector<QueryDiagnosis>& queries,
                                     int64_t most) {
  std::vector<int64_t> order;
  for (size_t q = 0; q < queries.size(); ++q) {
    if (queries[q].nearest_positive_rank > 0) {
      order.push_back(static_cast<int64_t>(q));
    }
  }
  const auto key = [&queries](int64_t q) {
    const QueryDiagnosis& query = queries[static_cast<size_t>(q)];
    return std::make_tuple(query.average_precision,
                           -query.nearest_positive_rank, q);
  };
  const auto end = order.begin() + std::min<int64_t>(most, std::ssize(order));
  std::partial_sort(order.begin(), end, order.end(),
                    [&key](int64_t a, int64_t b) { return key(a) < key(b); });
  order.erase(end, order.end());
  return order;
}

std::vector<ConfusedPair> confused_pairs(const Diagnostics& all, int64_t most) {
  if (all.query_labels.empty() || all.gallery_labels.empty()) return {};
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  std::map<int64_t, int64_t> of_class;
  for (size_t q = 0; q < all.queries.size(); ++q) {
    const QueryDiagnosis& query = all.queries[q];
    if (query.nearest_positive_rank == 0 || query.nearest < 0) continue;
    const int64_t from = all.query_labels[q];
    const int64_t to = all.gallery_labels[static_cast<size_t>(query.nearest)];
    ++of_class[from];
    // Not by labels: where lists say what is right, they mean nothing.
    if (query.nearest_positive_rank > 1) ++counts[{from, to}];
  }
  std::vector<ConfusedPair> pairs;
  for (const auto& [labels, count] : counts) {
    const auto& [from, to] = labels;
    const auto reverse = counts.find({to, from});
    pairs.push_back(
        {from, to, count,
         static_cast<double>(count) / static_cast<double>(of_class[from]),
         reverse == counts.end() ? 0 : reverse->second});
  }
  const auto key = [](const ConfusedPair& pair) {
    return std::make_tuple(-pair.count, -pair.share, pair.from, pair.to);
  };
  std::sort(pairs.begin(), pairs.end(),
            [&key](const ConfusedPair& a, const ConfusedPair& b) {
              return key(a) < key(b);
            });
  pairs.resize(static_cast<size_t>(std::min<int64_t>(most, std::ssize(pairs))));
  return pairs;
}

double skewness(const std::vector<int64_t>& counts) {
  double mean = 0;
  for (int64_t n : counts) mean += static_cast<double>(n);
  mean /= static_cast<double>(counts.size());
  double squares = 0;
  double cubes = 0;
  for (int64_t n : counts) {
    const double d = static_cast<double>(n) - mean;
    squares += d * d;
    cubes += d * d * d;
  }
  if (squares == 0) return std::numeric_limits<double>::quiet_NaN();
  const double variance = squares / static_cast<double>(counts.size());
  return cubes / static_cast<double>(counts.size()) / std::pow(variance, 1.5);
}

Hubness hubness_of(const std::vector<int64_t>& counts, int64_t k,
                   int64_t most) {
  Hubness result;
  result.k = k;
  if (counts.empty()) return result;
  result.skewness = skewness(counts);
  result.maximum = *std::max_element(counts.begin(), counts.end());
  result.never_found = std::count(counts.begin(), counts.end(), int64_t{0});
  for (size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] > 0) {
      result.largest.push_back({static_cast<int64_t>(j), counts[j]});
    }
  }
  const auto end = result.largest.begin() +
                   std::min<int64_t>(most, std::ssize(result.largest));
  std::partial_sort(result.largest.begin(), end, result.largest.end(),
                    [](const Hub& a, const Hub& b) {
                      return std::make_tuple(-a.count, a.item) <
                             std::make_tuple(-b.count, b.item);
                    });
  result.largest.erase(end, result.largest.end());
  return result;
}

}  // namespace

Diagnostics diagnose(const Scored& scored, const DiagnosticsOptions& options) {
  QueryDiagnoses found = diagnose_queries(scored, options.k, options.memory_mb);
  Diagnostics result;
  const bool apart = scored.gallery.defined();
  result.gallery = (apart ? scored.gallery : scored.queries).count();
  result.query_labels = to_vector(scored.query_labels);
  result.gallery_labels =
      to_vector(apart ? scored.gallery_labels : scored.query_labels);
  result.queries = std::move(found.queries);
  for (const QueryDiagnosis& query : result.queries) {
    result.without_positives += query.nearest_positive_rank == 0;
    result.without_negative += query.nearest_negative < 0;
  }
  result.hardest = hardest_queries(result.queries, options.hardest);
  result.confused = confused_pairs(result, options.pairs);
  result.hubness = hubness_of(found.times_found, options.k, options.hubs);
  return result;
}

}  // namespace kith
