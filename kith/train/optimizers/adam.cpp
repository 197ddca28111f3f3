#include "kith/train/adam.h"

namespace kith {
namespace {

class Adam final : public AdamBase {
 public:
  static constexpr const char* kSummary = "Adam (Kingma & Ba, 2015)";
  using Options = AdamOptions;

  Adam(const Options& options, const NamedTensors& parameters)
      : AdamBase(options, parameters, /*decoupled=*/false) {}
};

}  // namespace

KITH_REGISTER(optimizer_registry(), "adam", Adam);

}  // namespace kith
