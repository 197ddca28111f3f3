#include "kith/run/run_state.h"

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/json.h"
#include "kith/run/detail/stored_json.h"

namespace kith {
namespace {

/// Keys that change how a run is carried out but not its numbers.
ConfigNode without_neutral_keys(ConfigNode tree) {
  const auto drop = [](ConfigNode& map, const std::string& key) {
    std::erase_if(map.entries, [&](const auto& e) { return e.first == key; });
  };
  drop(tree, "log");
  drop(tree, "published");
  drop(tree, "started");
  if (ConfigNode* train = tree.find("train")) {
    for (const char* key :
         {"workers", "prefetch", "checkpoint_steps", "keep_every", "cache_mb",
          "keep_graphs", "replay", "tune"}) {
      drop(*train, key);
    }
  }
  return tree;
}

std::string difference(const ConfigNode& a, const ConfigNode& b,
                       const std::string& path) {
  if (a.is_map() && b.is_map()) {
    for (const auto& [key, value] : a.entries) {
      const std::string below = path.empty() ? key : path + "." + key;
      const ConfigNode* other = b.find(key);
      if (other == nullptr) return below;
      const std::string found = difference(value, *other, below);
      if (!found.empty()) return found;
    }
    return a.entries.size() == b.entries.size() ? "" : path;
  }
  return to_yaml(a) == to_yaml(b) ? "" : path;
}

}  // namespace

std::string RunState::dump() const {
  OrderedJson json = {{"epoch", epoch},
                      {"step_in_epoch", step_in_epoch},
                      {"step", step},
                      {"threads", torch::get_num_threads()},
                      {"history", OrderedJson::array()},
                      {"best", json_of(best)}};
  for (const RunPoint& point : history) {
    json["history"].push_back(json_of(point));
  }
  if (test) json["test"] = json_of(*test);
  // Not there in a run that went on as it was: its file is as it always was.
  for (const RunChange& change : changes) {
    json["changes"].push_back(json_of(change));
  }
  return json.dump();
}

std::string RunState::dump_point() const {
  OrderedJson json = {{"epoch", epoch}, {"step", step}};
  if (step_in_epoch > 0) json["step_in_epoch"] = step_in_epoch;
  return json.dump();
}

void RunState::load(const std::string& text, const std::string& path) {
  try {
    const OrderedJson json = parse_json(text);
    epoch = json.at("epoch");
    step_in_epoch = json.at("step_in_epoch");
    step = json.at("step");
    history.clear();
    for (const OrderedJson& point : json.at("history")) {
      history.push_back(point_of(point));
    }
    best = best_of(json.at("best"));
    test = test_of(field(json, "test"));
    threads = count_of(json.at("threads"));
    changes.clear();
    for (const OrderedJson& change : field(json, "changes")) {
      changes.push_back(change_of(change));
    }
  } catch (const OrderedJson::exception&) {
    throw DataError(path + ": the state of the run in it cannot be read");
  }
}

std::string first_difference(const ConfigNode& a, const ConfigNode& b) {
  return difference(without_neutral_keys(a), without_neutral_keys(b), "");
}

}  // namespace kith
