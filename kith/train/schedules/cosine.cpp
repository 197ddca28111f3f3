#include <cmath>
#include <numbers>

#include "kith/train/schedule.h"

namespace kith {
namespace {

struct CosineOptions {
  WarmUp warm_up;
  double final_factor = 0.0;

  void describe(OptionSet& set) {
    warm_up.describe(set);
    set.add("final_factor", final_factor, "Factor at the end of training.")
        .range(0, 1);
  }
};

class Cosine final : public Schedule {
 public:
  static constexpr const char* kSummary =
      "half a cosine from the full rate to final_factor";
  using Options = CosineOptions;

  explicit Cosine(const Options& options) : options_(options) {}

  double factor(double epoch, double epochs) const override {
    const double wave = (1 + std::cos(std::numbers::pi * epoch / epochs)) / 2;
    return options_.warm_up.factor(epoch) *
           (options_.final_factor + (1 - options_.final_factor) * wave);
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(schedule_registry(), "cosine", Cosine);

}  // namespace kith
