#include "kith/eval/protocol.h"

namespace kith {
namespace {

class Inshop final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "In-Shop Clothes: the query list is searched among the gallery list";
  using Options = NoOptions;

  explicit Inshop(const Options&) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override {
    return {query_gallery_task(list, split, "inshop")};
  }

  std::vector<std::string> metrics() const override {
    return {"recall_any@1,10,20,30,40,50"};
  }
};

}  // namespace

KITH_REGISTER(protocol_registry(), "inshop", Inshop);

}  // namespace kith
