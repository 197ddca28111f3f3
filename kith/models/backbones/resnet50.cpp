#include "kith/models/resnet.h"

namespace kith {
namespace {

class ResNet50 final : public ResNet {
 public:
  static constexpr const char* kSummary =
      "residual network of 50 layers, 2048 features";
  using Options = NoOptions;

  ResNet50(const Options&, const BackboneInput& input)
      : ResNet(Block::kBottleneck, {3, 4, 6, 3}, input) {}
};

}  // namespace

KITH_REGISTER(backbone_registry(), "resnet50", ResNet50);

}  // namespace kith
