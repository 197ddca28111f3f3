#include "kith/eval/metric.h"

namespace kith {
namespace {

class RecallAny final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "share of queries with at least one positive among the k nearest";
  using Options = NoOptions;

  RecallAny(const Options&, const MetricInput& input)
      : k_(metric_k(input, "recall_any")) {}

  double value(const RankedQuery& query) const override {
    return query.hits(k_) > 0 ? 1 : 0;
  }

 private:
  int64_t k_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "recall_any", RecallAny);

}  // namespace kith
