#include "kith/core/error.h"
#include "kith/eval/metric.h"

namespace kith {
namespace {

class MapAtR final : public Metric {
 public:
  static constexpr const char* kSummary =
      "1/R sum over i <= R of precision@i where the i-th is a "
      "positive, R = positives of the query";
  using Options = NoOptions;

  MapAtR(const Options&, const MetricInput& input) {
    if (input.k != 0) throw ConfigError("metric 'map_at_r' takes no k");
  }

  int64_t depth(int64_t positives) const override { return positives; }

  double value(const RankedQuery& query) const override {
    double hits = 0;
    double sum = 0;
    for (size_t i = 0; i < query.relevant.size(); ++i) {
      if (!query.relevant[i]) continue;
      hits += 1;
      sum += hits / static_cast<double>(i + 1);
    }
    return sum / static_cast<double>(query.positives);
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "map_at_r", MapAtR);

}  // namespace kith
