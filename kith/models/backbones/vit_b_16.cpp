#include "kith/models/vit.h"

namespace kith {
namespace {

class VitB16 final : public VisionTransformer {
 public:
  static constexpr const char* kSummary =
      "vision transformer, base size, patches of 16 pixels, 768 features";
  using Options = VitOptions;

  VitB16(const Options& options, const BackboneInput& input)
      : VisionTransformer({.patch = 16}, options, input) {}
};

}  // namespace

KITH_REGISTER(backbone_registry(), "vit_b_16", VitB16);

}  // namespace kith
