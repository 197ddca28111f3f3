#include "kith/eval/metric.h"
#include "kith/eval/precision_sum.h"

namespace kith {
namespace {

class Map1000 final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "1/n_c sum over i <= 1000 of precision@i where the i-th is a positive, "
      "n_c = size of the class with the query counted; mean over queries (as "
      "published code, without its padding of short rankings)";
  using Options = NoOptions;

  Map1000(const Options&, const MetricInput& input) {
    no_metric_number(input, "map_1000");
  }

  double value(const RankedQuery& query) const override {
    constexpr int64_t kNeighbours = 1000;
    return precision_sum(query, kNeighbours) /
           static_cast<double>(query.class_size);
  }
};

}  // namespace

KITH_REGISTER(metric_registry(), "map_1000", Map1000);

}  // namespace kith
