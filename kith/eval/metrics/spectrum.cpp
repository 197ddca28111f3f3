#include "kith/eval/spectrum.h"

#include "kith/eval/metric.h"

namespace kith {
namespace {

class SpectrumList final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "singular values of the [N, D] embeddings, not centred, largest first, "
      "divided by their sum; a list";
  using Options = NoOptions;

  SpectrumList(const Options&, const MetricInput& input) {
    no_metric_number(input, "spectrum");
  }

  std::vector<double> values(const ScoredSet& set) const override {
    return spectrum(set);
  }

  bool is_list() const override { return true; }
};

}  // namespace

KITH_REGISTER(metric_registry(), "spectrum", SpectrumList);

}  // namespace kith
