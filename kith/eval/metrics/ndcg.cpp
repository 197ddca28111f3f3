#include <algorithm>
#include <cmath>

#include "kith/eval/metric.h"

namespace kith {
namespace {

double discount(int64_t rank) {
  return 1 / std::log2(static_cast<double>(rank) + 1);
}

class Ndcg final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "sum of 1 / log2(1 + rank) over positives among the k nearest, divided "
      "by the same sum with the first min(k, R) places taken by positives; "
      "mean over queries";
  using Options = NoOptions;

  Ndcg(const Options&, const MetricInput& input)
      : k_(metric_k(input, "ndcg")) {}

  double value(const RankedQuery& query) const override {
    double gain = 0;
    double ideal = 0;
    const int64_t hits = query.hits(k_);
    const int64_t most = std::min(k_, query.positives());
    for (int64_t i = 0; i < most; ++i) {
      ideal += discount(i + 1);
      if (i < hits) gain += discount(query.ranks[static_cast<size_t>(i)]);
    }
    return gain / ideal;
  }

 private:
  int64_t k_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "ndcg", Ndcg);

}  // namespace kith
