#include "kith/eval/metric.h"

namespace kith {
namespace {

class PrecisionC final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "positives among the n_c nearest / n_c, n_c = size of the class with "
      "the query counted; mean over queries";
  using Options = NoOptions;

  PrecisionC(const Options&, const MetricInput& input) {
    no_metric_number(input, "precision_c");
  }

  double value(const RankedQuery& query) const override {
    return static_cast<double>(query.hits(query.class_size)) /
           static_cast<double>(query.class_size);
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "precision_c", PrecisionC);

}  // namespace kith
