#include <algorithm>

#include "kith/core/error.h"
#include "kith/eval/metric.h"

namespace kith {
namespace {

class Precision final : public Metric {
 public:
  static constexpr const char* kSummary =
      "positives among the k nearest / k, mean over queries";
  using Options = NoOptions;

  Precision(const Options&, const MetricInput& input) : k_(input.k) {
    if (k_ == 0) throw ConfigError("metric 'precision' needs a k: precision@1");
  }

  int64_t depth(int64_t) const override { return k_; }

  double value(const RankedQuery& query) const override {
    const auto hits =
        std::count(query.relevant.begin(), query.relevant.end(), 1);
    return static_cast<double>(hits) / static_cast<double>(k_);
  }

 private:
  int64_t k_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "precision", Precision);

}  // namespace kith
