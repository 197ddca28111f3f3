#include "kith/core/error.h"
#include "kith/eval/metric.h"
#include "kith/eval/pair_counts.h"

namespace kith {
namespace {

double acceptance_rate(const MetricInput& input) {
  if (!input.at || !(*input.at >= 0 && *input.at <= 1)) {
    throw ConfigError(
        "metric 'tar' needs a false acceptance rate in [0, 1]: tar@0.001");
  }
  return *input.at;
}

class Tar final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "verification: share of the positive pairs of query and item that are "
      "accepted by the lowest threshold of similarity that accepts at most "
      "the given share of the negative pairs";
  using Options = NoOptions;

  Tar(const Options&, const MetricInput& input)
      : far_(acceptance_rate(input)) {}

  std::vector<double> values(const ScoredSet& set) const override {
    return {true_acceptance_rate(set, far_)};
  }

 private:
  double far_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "tar", Tar);

}  // namespace kith
