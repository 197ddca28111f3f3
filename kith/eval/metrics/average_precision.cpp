#include <algorithm>

#include "kith/eval/metrics.h"

namespace kith {
namespace {

/// Sum of the precisions at the positives among the `limit` nearest: the i-th
/// positive at rank r adds i / r. Divided by the number of positives that
/// counts, it is an average precision.
double precision_sum(const RankedQuery& query, int64_t limit) {
  const int64_t hits = query.hits(limit);
  double sum = 0;
  for (int64_t i = 0; i < hits; ++i) {
    sum += static_cast<double>(i + 1) /
           static_cast<double>(query.ranks[static_cast<size_t>(i)]);
  }
  return sum;
}

}  // namespace

MapMetric::MapMetric(MapOptions options)
    : k_(options.k == 0 ? INT64_MAX : checked_k(options.k)) {}

MapMetric::MapMetric(const NoOptions&, const MetricInput& input)
    : k_(input.at ? metric_k(input) : INT64_MAX) {}

double MapMetric::value(const RankedQuery& query) const {
  return precision_sum(query, std::min(k_, query.candidates)) /
         static_cast<double>(std::min(k_, query.positives()));
}

KITH_REGISTER(metric_registry(), "map", MapMetric);

double Map1000Metric::value(const RankedQuery& query) const {
  constexpr int64_t kNeighbours = 1000;
  return precision_sum(query, kNeighbours) /
         static_cast<double>(query.class_size);
}

KITH_REGISTER(metric_registry(), "map_1000", Map1000Metric);

double MapAtRMetric::value(const RankedQuery& query) const {
  const int64_t r = query.positives();
  return precision_sum(query, r) / static_cast<double>(r);
}

KITH_REGISTER(metric_registry(), "map_at_r", MapAtRMetric);

double MapCMetric::value(const RankedQuery& query) const {
  return precision_sum(query, query.class_size) /
         static_cast<double>(query.class_size);
}

KITH_REGISTER(metric_registry(), "map_c", MapCMetric);

double MapTrapezoidMetric::value(const RankedQuery& query) const {
  double sum = 0;
  for (size_t j = 0; j < query.ranks.size(); ++j) {
    const auto found = static_cast<double>(j);
    const auto rank = static_cast<double>(query.ranks[j]);
    const double before = query.ranks[j] == 1 ? 1 : found / (rank - 1);
    sum += (before + (found + 1) / rank) / 2;
  }
  return sum / static_cast<double>(query.positives());
}

KITH_REGISTER(metric_registry(), "map_trapezoid", MapTrapezoidMetric);

}  // namespace kith
