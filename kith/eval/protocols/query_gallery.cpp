#include "kith/eval/protocol.h"

namespace kith {
namespace {

class QueryGallery final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "images marked is_query are searched among those marked is_gallery";
  using Options = NoOptions;

  explicit QueryGallery(const Options&) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override {
    return {query_gallery_task(list, split, "query_gallery")};
  }
};

}  // namespace

KITH_REGISTER(protocol_registry(), "query_gallery", QueryGallery);

}  // namespace kith
