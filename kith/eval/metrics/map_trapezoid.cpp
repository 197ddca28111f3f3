#include "kith/eval/metric.h"

namespace kith {
namespace {

class MapTrapezoid final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "mean over positives of (p' + p) / 2, p the precision at the positive's "
      "rank and p' the one just before it (1 at rank 1): the area under the "
      "precision-recall curve by the trapezoid rule, as of Oxford and Paris";
  using Options = NoOptions;

  MapTrapezoid(const Options&, const MetricInput& input) {
    no_metric_number(input, "map_trapezoid");
  }

  double value(const RankedQuery& query) const override {
    double sum = 0;
    for (size_t j = 0; j < query.ranks.size(); ++j) {
      const auto found = static_cast<double>(j);
      const auto rank = static_cast<double>(query.ranks[j]);
      const double before = query.ranks[j] == 1 ? 1 : found / (rank - 1);
      sum += (before + (found + 1) / rank) / 2;
    }
    return sum / static_cast<double>(query.positives());
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "map_trapezoid", MapTrapezoid);

}  // namespace kith
