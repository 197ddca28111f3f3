#include "kith/eval/class_spread.h"
#include "kith/eval/metric.h"

namespace kith {
namespace {

class Inter final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "mean cosine distance of the normalised means of two classes, over all "
      "pairs of classes";
  using Options = NoOptions;

  Inter(const Options&, const MetricInput& input) {
    no_metric_number(input, "inter");
  }

  bool is_share() const override { return false; }
  MetricRange range() const override { return {0, 2}; }

  std::vector<double> values(const ScoredSet& set) const override {
    return {class_spread(set).between};
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "inter", Inter);

}  // namespace kith
