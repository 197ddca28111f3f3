#include "kith/eval/protocol.h"

#include <algorithm>

#include "kith/core/error.h"
#include "kith/data/data_set.h"

namespace kith {

EvalTask query_gallery_task(const ImageList& list, Split split,
                            const std::string& protocol) {
  if (!list.has_query_gallery) {
    throw DataError("protocol '" + protocol +
                    "' needs a list with the columns is_query and is_gallery; "
                    "this one has none: use 'standard'");
  }
  EvalTask task;
  for (int64_t i : list.of_split(split)) {
    const Item& item = list.items[static_cast<size_t>(i)];
    if (item.is_query) task.queries.push_back(i);
    if (item.is_gallery) task.gallery.push_back(i);
  }
  return task;
}

std::vector<int64_t> in_gallery(const std::vector<int64_t>& answers,
                                int64_t query,
                                const std::vector<int64_t>& gallery,
                                const ImageList& list) {
  const auto path = [&](int64_t position) {
    return list.items.at(static_cast<size_t>(position)).path;
  };
  std::vector<int64_t> positions;
  for (const int64_t answer : answers) {
    const auto found = std::lower_bound(gallery.begin(), gallery.end(), answer);
    if (found == gallery.end() || *found != answer) {
      throw DataError(path(answer) + ": answers the query " + path(query) +
                      " but is not in the gallery");
    }
    positions.push_back(found - gallery.begin());
  }
  return positions;
}

std::vector<EvalTask> eval_tasks(const Protocol& protocol,
                                 const ImageList& list, Split split) {
  std::vector<EvalTask> tasks = protocol.tasks(list, split);
  for (const EvalTask& task : tasks) {
    if (!task.queries.empty() && !task.gallery.empty()) continue;
    throw DataError(std::string("the ") + split_name(split) + " split" +
                    (task.name.empty() ? "" : " (" + task.name + ")") +
                    " has " +
                    (task.queries.empty() ? "no queries" : "an empty gallery") +
                    ": it cannot be evaluated; choose another split "
                    "(eval.split, or option 'split') or add images to it");
  }
  return tasks;
}

std::vector<std::string> usual_metrics(const std::string& protocol,
                                       const std::string& data_set) {
  const std::vector<std::string> own = protocol_registry()
                                           .at(protocol, "eval.protocol")
                                           .make(ConfigNode::map(), "protocol")
                                           ->metrics();
  if (!own.empty()) return own;
  std::string k = "1,2,4,8";
  if (data_set_registry().contains(data_set)) {
    k = data_set_registry().at(data_set, "").traits.recall_at;
  }
  return {"recall_any@" + k, "map_at_r", "precision@1"};
}

ProtocolRegistry& protocol_registry() {
  static ProtocolRegistry registry("protocol");
  return registry;
}

}  // namespace kith
