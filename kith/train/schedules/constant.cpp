#include "kith/train/schedule.h"

namespace kith {
namespace {

class Constant final : public Schedule {
 public:
  static constexpr const char* kSummary = "the rate stays";
  using Options = WarmUp;

  explicit Constant(const Options& options) : warm_up_(options) {}

  double factor(double epoch, double) const override {
    return warm_up_.factor(epoch);
  }

 private:
  WarmUp warm_up_;
};

}  // namespace

KITH_REGISTER(schedule_registry(), "constant", Constant);

}  // namespace kith
