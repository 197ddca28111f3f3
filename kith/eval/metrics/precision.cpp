#include "kith/eval/metric.h"

namespace kith {
namespace {

class Precision final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "positives among the k nearest / k, mean over queries";
  using Options = NoOptions;

  Precision(const Options&, const MetricInput& input)
      : k_(metric_k(input, "precision")) {}

  double value(const RankedQuery& query) const override {
    return static_cast<double>(query.hits(k_)) / static_cast<double>(k_);
  }

 private:
  int64_t k_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "precision", Precision);

}  // namespace kith
