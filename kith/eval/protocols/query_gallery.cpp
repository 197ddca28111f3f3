#include "kith/core/error.h"
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
    if (!list.has_query_gallery) {
      throw DataError(
          "protocol 'query_gallery' needs a list with the columns is_query "
          "and is_gallery");
    }
    EvalTask task;
    for (int64_t i : list.of_split(split)) {
      const Item& item = list.items[static_cast<size_t>(i)];
      if (item.is_query) task.queries.push_back(i);
      if (item.is_gallery) task.gallery.push_back(i);
    }
    return {task};
  }
};

}  // namespace

KITH_REGISTER(protocol_registry(), "query_gallery", QueryGallery);

}  // namespace kith
