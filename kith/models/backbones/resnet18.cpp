#include "kith/models/resnet.h"

namespace kith {
namespace {

class ResNet18 final : public ResNet {
 public:
  static constexpr const char* kSummary =
      "residual network of 18 layers, 512 features";
  using Options = NoOptions;

  ResNet18(const Options&, const BackboneInput& input)
      : ResNet(Block::kBasic, {2, 2, 2, 2}, input) {}
};

}  // namespace

KITH_REGISTER(backbone_registry(), "resnet18", ResNet18);

}  // namespace kith
