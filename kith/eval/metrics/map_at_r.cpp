#include "kith/eval/metric.h"
#include "kith/eval/precision_sum.h"

namespace kith {
namespace {

class MapAtR final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "1/R sum over i <= R of precision@i where the i-th is a positive, R = "
      "positives of the query; mean over queries";
  using Options = NoOptions;

  MapAtR(const Options&, const MetricInput& input) {
    no_metric_number(input, "map_at_r");
  }

  double value(const RankedQuery& query) const override {
    const int64_t r = query.positives();
    return precision_sum(query, r) / static_cast<double>(r);
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "map_at_r", MapAtR);

}  // namespace kith
