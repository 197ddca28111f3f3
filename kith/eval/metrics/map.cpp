#include "kith/eval/metric.h"
#include "kith/eval/precision_sum.h"

namespace kith {
namespace {

class Map final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "mean over positives of the precision at their rank, mean over queries";
  using Options = NoOptions;

  Map(const Options&, const MetricInput& input) {
    no_metric_number(input, "map");
  }

  double value(const RankedQuery& query) const override {
    return precision_sum(query, query.candidates) /
           static_cast<double>(query.positives());
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "map", Map);

}  // namespace kith
