#include "kith/models/resnet.h"

namespace kith {
namespace {

class ResNet101 final : public ResNet {
 public:
  static constexpr const char* kSummary =
      "residual network of 101 layers, 2048 features";
  using Options = NoOptions;

  ResNet101(const Options&, const BackboneInput& input)
      : ResNet(Block::kBottleneck, {3, 4, 23, 3}, input) {}
};

}  // namespace

KITH_REGISTER(backbone_registry(), "resnet101", ResNet101);

}  // namespace kith
