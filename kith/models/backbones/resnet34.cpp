#include "kith/models/resnet.h"

namespace kith {
namespace {

class ResNet34 final : public ResNet {
 public:
  static constexpr const char* kSummary =
      "residual network of 34 layers, 512 features";
  using Options = NoOptions;

  ResNet34(const Options&, const BackboneInput& input)
      : ResNet(Block::kBasic, {3, 4, 6, 3}, input) {}
};

}  // namespace

KITH_REGISTER(backbone_registry(), "resnet34", ResNet34);

}  // namespace kith
