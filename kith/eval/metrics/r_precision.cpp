#include "kith/eval/metric.h"

namespace kith {
namespace {

class RPrecision final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "positives among the R nearest / R, R = positives of the query; mean "
      "over queries";
  using Options = NoOptions;

  RPrecision(const Options&, const MetricInput& input) {
    no_metric_number(input, "r_precision");
  }

  double value(const RankedQuery& query) const override {
    const int64_t r = query.positives();
    return static_cast<double>(query.hits(r)) / static_cast<double>(r);
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "r_precision", RPrecision);

}  // namespace kith
