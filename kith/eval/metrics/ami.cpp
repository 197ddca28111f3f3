#include "kith/eval/clusters.h"
#include "kith/eval/metric.h"

namespace kith {
namespace {

class Ami final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "mutual information of clusters and classes adjusted for chance, (I - "
      "E) / ((H_clusters + H_classes) / 2 - E); clusters given, or by "
      "k-means: seeded, as many as classes, at most 20 rounds";
  using Options = NoOptions;

  Ami(const Options&, const MetricInput& input) {
    no_metric_number(input, "ami");
  }

  /// Below zero where clusters agree with classes less than by chance.
  MetricRange range() const override { return {-1, 1}; }

  std::vector<double> values(const ScoredSet& set) const override {
    return {adjusted_mutual_information(clustering(set))};
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "ami", Ami);

}  // namespace kith
