#include <algorithm>

#include "kith/eval/metric.h"

namespace kith {
namespace {

class MeanPrecision final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "precision at min(k, rank of the last positive), as of Oxford and Paris: "
      "queries with fewer than k positives can reach 1";
  using Options = NoOptions;

  MeanPrecision(const Options&, const MetricInput& input)
      : k_(metric_k(input, "mp")) {}

  double value(const RankedQuery& query) const override {
    const int64_t k = std::min(k_, query.ranks.back());
    return static_cast<double>(query.hits(k)) / static_cast<double>(k);
  }

 private:
  int64_t k_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "mp", MeanPrecision);

}  // namespace kith
