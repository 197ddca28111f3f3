#include "kith/models/vit.h"

namespace kith {
namespace {

class VitB32 final : public VisionTransformer {
 public:
  static constexpr const char* kSummary =
      "vision transformer, base size, patches of 32 pixels, 768 features";
  using Options = VitOptions;

  VitB32(const Options& options, const BackboneInput& input)
      : VisionTransformer({.patch = 32}, options, input) {}
};

}  // namespace

KITH_REGISTER(backbone_registry(), "vit_b_32", VitB32);

}  // namespace kith
