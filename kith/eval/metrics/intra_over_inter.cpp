#include <limits>

#include "kith/eval/class_spread.h"
#include "kith/eval/metric.h"

namespace kith {
namespace {

class IntraOverInter final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "mean cosine distance within classes / between class means: intra / "
      "inter";
  using Options = NoOptions;

  IntraOverInter(const Options&, const MetricInput& input) {
    no_metric_number(input, "intra_over_inter");
  }

  bool is_share() const override { return false; }
  Better better() const override { return Better::kSmaller; }
  MetricRange range() const override {
    return {0, std::numeric_limits<double>::infinity()};
  }

  std::vector<double> values(const ScoredSet& set) const override {
    const ClassSpread& d = class_spread(set);
    return {d.within / d.between};
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "intra_over_inter", IntraOverInter);

}  // namespace kith
