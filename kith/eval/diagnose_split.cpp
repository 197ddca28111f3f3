#include "kith/eval/diagnose_split.h"

#include <nlohmann/json.hpp>

#include "kith/core/json_text.h"
#include "kith/data/near_duplicates.h"
#include "kith/eval/diagnostics_json.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> image_paths(const ImageList& list,
                                     const std::vector<int64_t>& indices) {
  std::vector<std::string> paths;
  for (int64_t i : indices) {
    paths.push_back(list.items[static_cast<size_t>(i)].path);
  }
  return paths;
}

Json task_json(const EmbeddedSplit& split, const EvalTask& task,
               const ImageList& list, int64_t memory_mb) {
  DiagnosticsOptions options;
  options.memory_mb = memory_mb;
  const DiagnosticNames names{image_paths(list, task.queries),
                              image_paths(list, task.gallery),
                              list.class_names};
  return Json::parse(
      diagnostics_json(diagnose(split.scored(task), options), names));
}

/// How many near duplicates are listed; all are counted.
constexpr int64_t kListed = 1000;

Json duplicates_json(const DataSet& data, const std::vector<int64_t>& test,
                     int64_t threads, Progress& progress) {
  const std::vector<int64_t> train = data.list().of_split(Split::kTrain);
  const NearDuplicates found =
      near_duplicates(fingerprints(data, train, threads, progress),
                      fingerprints(data, test, threads, progress), kListed);
  return Json::parse(near_duplicates_json(found, data.list(), train, test));
}

}  // namespace

std::string diagnose_split(const EmbeddedSplit& split, const DataSet& data,
                           const DiagnoseSplitOptions& options,
                           Progress& progress) {
  Json json = Json::object();
  const std::string* last = nullptr;
  for (const EvalTask& task : split.tasks) {
    if (last != nullptr && *last == task.name) continue;
    last = &task.name;
    Json part = task_json(split, task, data.list(), options.memory_mb);
    if (task.name.empty()) {
      json = std::move(part);
    } else {
      json[task.name] = std::move(part);
    }
  }
  json["near_duplicates"] =
      duplicates_json(data, split.rows_of, options.threads, progress);
  return json_text(json, -1);
}

}  // namespace kith
