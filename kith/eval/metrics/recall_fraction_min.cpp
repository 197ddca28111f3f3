#include <algorithm>

#include "kith/eval/metric.h"

namespace kith {
namespace {

class RecallFractionMin final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "positives among the k nearest / min(k, R), R = positives of the query;"
      " mean over queries";
  using Options = NoOptions;

  RecallFractionMin(const Options&, const MetricInput& input)
      : k_(metric_k(input, "recall_fraction_min")) {}

  double value(const RankedQuery& query) const override {
    return static_cast<double>(query.hits(k_)) /
           static_cast<double>(std::min(k_, query.positives()));
  }

 private:
  int64_t k_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "recall_fraction_min", RecallFractionMin);

}  // namespace kith
