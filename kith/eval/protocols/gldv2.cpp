#include <algorithm>

#include "kith/core/error.h"
#include "kith/eval/protocol.h"

namespace kith {
namespace {

class GldV2 final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "Google Landmarks v2: the private and the public queries are searched "
      "among the index, by lists of right answers";
  using Options = NoOptions;

  explicit GldV2(const Options&) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override {
    std::vector<EvalTask> tasks;
    for (const char* name : {"private", "public"}) {
      EvalTask task = list_task(list, split, name);
      if (!task.queries.empty()) tasks.push_back(std::move(task));
    }
    if (tasks.empty()) {
      throw DataError(std::string("protocol 'gldv2' needs lists 'private' or "
                                  "'public' of queries with right answers, and "
                                  "the ") +
                      split_name(split) +
                      " split has none; use the data set 'gldv2' and its "
                      "split 'test'");
    }
    return tasks;
  }

  std::vector<std::string> metrics() const override { return {"map@100"}; }

 private:
  static EvalTask list_task(const ImageList& list, Split split,
                            const char* name) {
    EvalTask task;
    task.name = name;
    const auto at = [&](int64_t position) -> const Item& {
      return list.items.at(static_cast<size_t>(position));
    };
    const auto members = list.lists.find(name);
    if (members == list.lists.end()) return task;
    for (const int64_t i : list.of_split(split)) {
      if (at(i).is_gallery) task.gallery.push_back(i);
    }
    for (const QueryTruth& truth : list.truths) {
      if (at(truth.query).split != split) continue;
      if (!std::binary_search(members->second.begin(), members->second.end(),
                              truth.query)) {
        continue;
      }
      task.queries.push_back(truth.query);
      task.lists.positives.push_back(
          in_gallery(truth.easy, truth.query, task.gallery, list));
      task.lists.junk.emplace_back();
    }
    return task;
  }
};

}  // namespace

KITH_REGISTER(protocol_registry(), "gldv2", GldV2);

}  // namespace kith
