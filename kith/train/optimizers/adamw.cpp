#include "kith/train/adam.h"

namespace kith {
namespace {

struct AdamWOptions : AdamOptions {
  AdamWOptions() { weight_decay = 0.01; }
};

class AdamW final : public AdamBase {
 public:
  static constexpr const char* kSummary =
      "Adam with decoupled weight decay (Loshchilov & Hutter, 2019)";
  using Options = AdamWOptions;

  AdamW(const Options& options, const NamedTensors& parameters)
      : AdamBase(options, parameters, /*decoupled=*/true) {}
};

}  // namespace

KITH_REGISTER(optimizer_registry(), "adamw", AdamW);

}  // namespace kith
