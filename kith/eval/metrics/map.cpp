#include <algorithm>

#include "kith/eval/metric.h"
#include "kith/eval/precision_sum.h"

namespace kith {
namespace {

class Map final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "mean over positives of the precision at their rank, mean over queries; "
      "map@k: over the k nearest, divided by the lesser of positives and k";
  using Options = NoOptions;

  Map(const Options&, const MetricInput& input)
      : k_(input.at ? metric_k(input, "map") : INT64_MAX) {}

  double value(const RankedQuery& query) const override {
    return precision_sum(query, std::min(k_, query.candidates)) /
           static_cast<double>(std::min(k_, query.positives()));
  }

 private:
  int64_t k_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "map", Map);

}  // namespace kith
