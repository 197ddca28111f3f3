#include "kith/eval/metric.h"
#include "kith/eval/precision_sum.h"

namespace kith {
namespace {

class MapC final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "1/n_c sum over i <= n_c of precision@i where the i-th is a positive, "
      "n_c = size of the class with the query counted; mean over queries (as "
      "published code; a perfect ranking gives (n_c - 1) / n_c)";
  using Options = NoOptions;

  MapC(const Options&, const MetricInput& input) {
    no_metric_number(input, "map_c");
  }

  double value(const RankedQuery& query) const override {
    return precision_sum(query, query.class_size) /
           static_cast<double>(query.class_size);
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "map_c", MapC);

}  // namespace kith
