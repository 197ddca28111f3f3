#include "kith/eval/metric.h"
#include "kith/eval/spectrum.h"

namespace kith {
namespace {

class ClassSpectrum final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "mean over classes of two items or more of the singular values of the "
      "class's embeddings, largest first, divided by their sum (zeros for "
      "those a small class does not have); a list of the first 35";
  using Options = NoOptions;

  ClassSpectrum(const Options&, const MetricInput& input) {
    no_metric_number(input, "class_spectrum");
  }

  std::vector<double> values(const ScoredSet& set) const override {
    constexpr int64_t kLength = 35;
    return class_spectrum(set, kLength);
  }

  bool is_list() const override { return true; }
};

}  // namespace

KITH_REGISTER(metric_registry(), "class_spectrum", ClassSpectrum);

}  // namespace kith
