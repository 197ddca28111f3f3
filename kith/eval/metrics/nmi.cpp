#include "kith/eval/clusters.h"
#include "kith/eval/metric.h"

namespace kith {
namespace {

class Nmi final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "normalised mutual information 2 I / (H_clusters + H_classes); clusters"
      " given, or by k-means: seeded, as many as classes, at most 20 rounds";
  using Options = NoOptions;

  Nmi(const Options&, const MetricInput& input) {
    no_metric_number(input, "nmi");
  }

  std::vector<double> values(const ScoredSet& set) const override {
    return {normalized_mutual_information(clustering(set))};
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "nmi", Nmi);

}  // namespace kith
