#include "kith/eval/metric.h"

namespace kith {
namespace {

class Mrr final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "1 / rank of the nearest positive, mean over queries";
  using Options = NoOptions;

  Mrr(const Options&, const MetricInput& input) {
    no_metric_number(input, "mrr");
  }

  double value(const RankedQuery& query) const override {
    return 1 / static_cast<double>(query.ranks.front());
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "mrr", Mrr);

}  // namespace kith
