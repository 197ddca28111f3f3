#include <algorithm>

#include "kith/core/error.h"
#include "kith/eval/metric.h"

namespace kith {
namespace {

class RecallAny final : public Metric {
 public:
  static constexpr const char* kSummary =
      "share of queries with at least one positive among the k "
      "nearest";
  using Options = NoOptions;

  RecallAny(const Options&, const MetricInput& input) : k_(input.k) {
    if (k_ == 0)
      throw ConfigError("metric 'recall_any' needs a k: recall_any@1");
  }

  int64_t depth(int64_t) const override { return k_; }

  double value(const RankedQuery& query) const override {
    return std::count(query.relevant.begin(), query.relevant.end(), 1) > 0;
  }

 private:
  int64_t k_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "recall_any", RecallAny);

}  // namespace kith
