#include <cmath>

#include "kith/train/schedule.h"

namespace kith {
namespace {

struct StepOptions {
  WarmUp warm_up;
  std::vector<double> milestones;
  double gamma = 0.3;

  void describe(OptionSet& set) {
    warm_up.describe(set);
    set.add("milestones", milestones,
            "Epochs at whose start the rate is multiplied by gamma.")
        .range(0);
    set.add("gamma", gamma, "Factor at each milestone.").positive();
  }
};

class Step final : public Schedule {
 public:
  static constexpr const char* kSummary =
      "the rate is multiplied by gamma at each milestone";
  using Options = StepOptions;

  explicit Step(const Options& options) : options_(options) {}

  double factor(double epoch, double) const override {
    double passed = 0;
    for (double milestone : options_.milestones) passed += epoch >= milestone;
    return options_.warm_up.factor(epoch) * std::pow(options_.gamma, passed);
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(schedule_registry(), "step", Step);

}  // namespace kith
