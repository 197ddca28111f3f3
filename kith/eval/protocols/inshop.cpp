#include "kith/core/error.h"
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
    if (!list.has_query_gallery) {
      throw DataError(
          "protocol 'inshop' needs a data set with lists of queries and of the "
          "gallery; this one has none: use 'standard'");
    }
    EvalTask task;
    for (int64_t i : list.of_split(split)) {
      const Item& item = list.items[static_cast<size_t>(i)];
      if (item.is_query) task.queries.push_back(i);
      if (item.is_gallery) task.gallery.push_back(i);
    }
    return {task};
  }

  std::vector<std::string> metrics() const override {
    return {"recall_any@1,10,20,30,40,50"};
  }
};

}  // namespace

KITH_REGISTER(protocol_registry(), "inshop", Inshop);

}  // namespace kith
