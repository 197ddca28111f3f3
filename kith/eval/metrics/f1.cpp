#include "kith/eval/clusters.h"
#include "kith/eval/metric.h"

namespace kith {
namespace {

class F1 final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "harmonic mean of precision and recall of pairs in one cluster as pairs"
      " of one class; clusters given, or by k-means: seeded, as many as "
      "classes, at most 20 rounds";
  using Options = NoOptions;

  F1(const Options&, const MetricInput& input) {
    no_metric_number(input, "f1");
  }

  std::vector<double> values(const ScoredSet& set) const override {
    return {pair_f1(clustering(set))};
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "f1", F1);

}  // namespace kith
