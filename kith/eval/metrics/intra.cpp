#include "kith/eval/class_spread.h"
#include "kith/eval/metric.h"

namespace kith {
namespace {

class Intra final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "mean cosine distance of the pairs of a class, mean over classes of two"
      " items or more";
  using Options = NoOptions;

  Intra(const Options&, const MetricInput& input) {
    no_metric_number(input, "intra");
  }

  bool is_share() const override { return false; }
  Better better() const override { return Better::kSmaller; }
  MetricRange range() const override { return {0, 2}; }

  std::vector<double> values(const ScoredSet& set) const override {
    return {class_spread(set).within};
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "intra", Intra);

}  // namespace kith
