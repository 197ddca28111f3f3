#include <limits>
#include <string>

#include "kith/core/error.h"
#include "kith/eval/metric.h"
#include "kith/eval/spectrum.h"

namespace kith {
namespace {

class Rho final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "KL(uniform || s) in nats, s = singular values of the [N, D] "
      "embeddings, not centred, divided by their sum; higher: stronger decay."
      " rho@m (rho_m) drops the m - 1 largest first. Infinite (null) for "
      "embeddings of lower rank";
  using Options = NoOptions;

  Rho(const Options&, const MetricInput& input)
      : dropped_(input.at ? metric_k(input, "rho") - 1 : 0) {}

  bool is_share() const override { return false; }
  Better better() const override { return Better::kNeither; }
  MetricRange range() const override {
    return {0, std::numeric_limits<double>::infinity()};
  }

  std::vector<double> values(const ScoredSet& set) const override {
    const int64_t items = set.gallery.count();
    const int64_t dim = set.gallery.dim();
    const std::string size =
        std::to_string(items) + " items of dimension " + std::to_string(dim);
    if (items < dim) {
      throw DataError(
          "metric 'rho' needs at least as many items as dimensions, got " +
          size + "; evaluate more items or leave it out");
    }
    if (dropped_ >= dim) {
      throw DataError("metric 'rho': of " + size + ", " +
                      std::to_string(dropped_) +
                      " singular values cannot be dropped; use a smaller "
                      "number, rho@1 to rho@" +
                      std::to_string(dim));
    }
    return {spectral_decay(spectrum(set), dropped_)};
  }

 private:
  int64_t dropped_;
};

}  // namespace

KITH_REGISTER(metric_registry(), "rho", Rho);

}  // namespace kith
