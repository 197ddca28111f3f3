#include "kith/eval/metric.h"

namespace kith {
namespace {

class RecallFraction final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "positives among the k nearest / R, R = positives of the query; mean "
      "over queries";
  using Options = NoOptions;

  RecallFraction(const Options&, const MetricInput& input)
      : k_(metric_k(input, "recall_fraction")) {}

  double value(const RankedQuery& query) const override {
    return static_cast<double>(query.hits(k_)) /
           static_cast<double>(query.positives());
  }

 private:
  int64_t k_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "recall_fraction", RecallFraction);

}  // namespace kith
