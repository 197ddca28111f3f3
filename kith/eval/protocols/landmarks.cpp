#include <algorithm>

#include "kith/core/error.h"
#include "kith/eval/protocols.h"
#include "kith/eval/revisited.h"

namespace kith {
namespace {

const Item& item_at(const ImageList& list, int64_t position) {
  return list.items.at(static_cast<size_t>(position));
}

EvalTask list_task(const ImageList& list, Split split, const char* name) {
  EvalTask task;
  task.name = name;
  const auto members = list.lists.find(name);
  if (members == list.lists.end()) return task;
  for (const int64_t i : list.of_split(split)) {
    if (item_at(list, i).is_gallery) task.gallery.push_back(i);
  }
  for (const QueryTruth& truth : list.truths) {
    if (item_at(list, truth.query).split != split) continue;
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

/// Queries with lists of right answers, and the whole gallery, of a split.
struct ListedQueries {
  EvalTask task;
  std::vector<QueryTruth> truths;  ///< Positions in the gallery.
};

ListedQueries listed_queries(const ImageList& list, Split split,
                             const std::string& protocol,
                             const std::string& example) {
  ListedQueries found;
  EvalTask& task = found.task;
  for (int64_t i : list.of_split(split)) {
    if (item_at(list, i).is_gallery) task.gallery.push_back(i);
  }
  for (const QueryTruth& truth : list.truths) {
    if (item_at(list, truth.query).split != split) continue;
    task.queries.push_back(truth.query);
    const auto place = [&](const std::vector<int64_t>& answers) {
      return in_gallery(answers, truth.query, task.gallery, list);
    };
    found.truths.push_back(
        {truth.query, place(truth.easy), place(truth.hard), place(truth.junk)});
  }
  if (found.truths.empty()) {
    throw DataError("protocol '" + protocol +
                    "' needs lists of right answers, and the " +
                    split_name(split) + " split has none; use " + example);
  }
  return found;
}

}  // namespace

std::vector<EvalTask> RevisitedProtocol::tasks(const ImageList& list,
                                               Split split) const {
  ListedQueries found =
      listed_queries(list, split, "revisited",
                     "the data set 'revisited' and its split 'test'");
  std::vector<EvalTask> tasks;
  for (const char* setting : kRevisitedSettings) {
    found.task.name = setting;
    found.task.lists = revisited_lists(found.truths, setting);
    tasks.push_back(found.task);
  }
  return tasks;
}

KITH_REGISTER(protocol_registry(), "revisited", RevisitedProtocol);

std::vector<EvalTask> ListedProtocol::tasks(const ImageList& list,
                                            Split split) const {
  ListedQueries found =
      listed_queries(list, split, "listed",
                     "data with such, as 'sfm120k' with 'validation: queries'");
  found.task.lists = revisited_lists(found.truths, "medium");
  return {std::move(found.task)};
}

KITH_REGISTER(protocol_registry(), "listed", ListedProtocol);

std::vector<EvalTask> GldV2Protocol::tasks(const ImageList& list,
                                           Split split) const {
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

KITH_REGISTER(protocol_registry(), "gldv2", GldV2Protocol);

}  // namespace kith
