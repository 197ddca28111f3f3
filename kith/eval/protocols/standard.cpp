#include "kith/eval/protocol.h"

namespace kith {
namespace {

class Standard final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "every image of the split is searched among all the others";
  using Options = NoOptions;

  explicit Standard(const Options&) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override {
    const std::vector<int64_t> all = list.of_split(split);
    return {{"", all, all}};
  }
};

}  // namespace

KITH_REGISTER(protocol_registry(), "standard", Standard);

}  // namespace kith
