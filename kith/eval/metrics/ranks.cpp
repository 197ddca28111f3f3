#include <algorithm>
#include <cmath>

#include "kith/eval/metrics.h"

namespace kith {
namespace {

double discount(int64_t rank) {
  return 1 / std::log2(static_cast<double>(rank) + 1);
}

}  // namespace

double RecallAnyMetric::value(const RankedQuery& query) const {
  return query.hits(k()) > 0 ? 1 : 0;
}

KITH_REGISTER(metric_registry(), "recall_any", RecallAnyMetric);

double RecallFractionMetric::value(const RankedQuery& query) const {
  return static_cast<double>(query.hits(k())) /
         static_cast<double>(query.positives());
}

KITH_REGISTER(metric_registry(), "recall_fraction", RecallFractionMetric);

double RecallFractionMinMetric::value(const RankedQuery& query) const {
  return static_cast<double>(query.hits(k())) /
         static_cast<double>(std::min(k(), query.positives()));
}

KITH_REGISTER(metric_registry(), "recall_fraction_min",
              RecallFractionMinMetric);

double PrecisionMetric::value(const RankedQuery& query) const {
  return static_cast<double>(query.hits(k())) / static_cast<double>(k());
}

KITH_REGISTER(metric_registry(), "precision", PrecisionMetric);

double PrecisionCMetric::value(const RankedQuery& query) const {
  return static_cast<double>(query.hits(query.class_size)) /
         static_cast<double>(query.class_size);
}

KITH_REGISTER(metric_registry(), "precision_c", PrecisionCMetric);

double RPrecisionMetric::value(const RankedQuery& query) const {
  const int64_t r = query.positives();
  return static_cast<double>(query.hits(r)) / static_cast<double>(r);
}

KITH_REGISTER(metric_registry(), "r_precision", RPrecisionMetric);

double MeanPrecisionMetric::value(const RankedQuery& query) const {
  const int64_t depth = std::min(k(), query.ranks.back());
  return static_cast<double>(query.hits(depth)) / static_cast<double>(depth);
}

KITH_REGISTER(metric_registry(), "mp", MeanPrecisionMetric);

double MrrMetric::value(const RankedQuery& query) const {
  return 1 / static_cast<double>(query.ranks.front());
}

KITH_REGISTER(metric_registry(), "mrr", MrrMetric);

double NdcgMetric::value(const RankedQuery& query) const {
  double gain = 0;
  double ideal = 0;
  const int64_t hits = query.hits(k());
  const int64_t most = std::min(k(), query.positives());
  for (int64_t i = 0; i < most; ++i) {
    ideal += discount(i + 1);
    if (i < hits) gain += discount(query.ranks[static_cast<size_t>(i)]);
  }
  return gain / ideal;
}

KITH_REGISTER(metric_registry(), "ndcg", NdcgMetric);

}  // namespace kith
