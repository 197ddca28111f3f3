#include "kith/eval/revisited.h"

#include "kith/core/error.h"
#include "kith/eval/protocol.h"

namespace kith {
namespace {

class Revisited final : public Protocol {
 public:
  static constexpr const char* kSummary =
      "ROxford, RParis: easy, medium and hard by lists of right answers; junk "
      "is left out of the ranking";
  using Options = NoOptions;

  explicit Revisited(const Options&) {}

  std::vector<EvalTask> tasks(const ImageList& list,
                              Split split) const override {
    EvalTask task;
    for (int64_t i : list.of_split(split)) {
      if (at(list, i).is_gallery) task.gallery.push_back(i);
    }
    std::vector<QueryTruth> truths;
    for (const QueryTruth& truth : list.truths) {
      if (at(list, truth.query).split != split) continue;
      task.queries.push_back(truth.query);
      const auto place = [&](const std::vector<int64_t>& answers) {
        return in_gallery(answers, truth.query, task.gallery, list);
      };
      truths.push_back({truth.query, place(truth.easy), place(truth.hard),
                        place(truth.junk)});
    }
    if (truths.empty()) {
      throw DataError(std::string("protocol 'revisited' needs lists of right "
                                  "answers, and the ") +
                      split_name(split) +
                      " split has none; use the data set 'revisited' and its "
                      "split 'test'");
    }
    std::vector<EvalTask> tasks;
    for (const char* setting : kRevisitedSettings) {
      task.name = setting;
      task.lists = revisited_lists(truths, setting);
      tasks.push_back(task);
    }
    return tasks;
  }

  std::vector<std::string> metrics() const override {
    return {"map_trapezoid", "mp@1,5,10"};
  }

 private:
  static const Item& at(const ImageList& list, int64_t position) {
    return list.items.at(static_cast<size_t>(position));
  }
};

}  // namespace

KITH_REGISTER(protocol_registry(), "revisited", Revisited);

}  // namespace kith
