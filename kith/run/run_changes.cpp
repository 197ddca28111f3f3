#include "kith/run/run_changes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/path.h"
#include "kith/run/detail/stored_json.h"
#include "kith/run/run_folder.h"

namespace kith {
namespace {

constexpr uint64_t kMaxChangesBytes = uint64_t{1} << 24;

/// How long a run trains.
constexpr std::array<std::string_view, 4> kEndKeys = {
    "train.epochs", "train.steps", "train.stop_epoch", "train.patience"};

/// How the work is done.
constexpr std::array<std::string_view, 9> kWorkKeys = {
    "train.workers",    "train.prefetch",    "train.checkpoint_steps",
    "train.keep_every", "train.keep_graphs", "train.replay",
    "train.cache_mb",   "train.tune",        "threads"};

/// When and how evaluations are made, but not of what: their numbers stay
/// comparable with earlier ones.
constexpr std::array<std::string_view, 5> kEvalKeys = {
    "eval.every", "eval.before", "eval.batch", "eval.metrics", "eval.best"};

template <size_t N>
bool is_among(const std::array<std::string_view, N>& keys,
              const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// YAML on one line; empty if there is none.
std::string line_of(const ConfigNode* node) {
  if (node == nullptr) return "";
  std::string text = to_yaml(*node);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void add_changes(const ConfigNode* before, const ConfigNode* after,
                 const std::string& key, std::vector<RunChange>& all) {
  if (before == nullptr || after == nullptr || !before->is_map() ||
      !after->is_map()) {
    RunChange change{0, 0, key, line_of(before), line_of(after)};
    if (change.before != change.after) all.push_back(std::move(change));
    return;
  }
  const auto below = [&](const std::string& name) {
    return key.empty() ? name : key + "." + name;
  };
  for (const auto& [name, value] : before->entries) {
    add_changes(&value, after->find(name), below(name), all);
  }
  for (const auto& [name, value] : after->entries) {
    if (before->find(name) != nullptr) continue;
    add_changes(nullptr, &value, below(name), all);
  }
}

/// The way out, for a change that is refused.
std::string way_out(const RunChange& change, const std::string& folder) {
  if (change.key == "optimizer.lr") {
    return "; another learning rate must be allowed: option 'allow_lr'";
  }
  if (change.key.starts_with("eval.")) {
    return "; its evaluations would no longer be comparable. Measure the "
           "trained network otherwise with kith eval " +
           folder;
  }
  return "; a run goes on with the same data, network and objective. To train "
         "its weights on with others, start a new run with train.init_from: " +
         folder;
}

}  // namespace

std::vector<RunChange> config_changes(const ConfigNode& before,
                                      const ConfigNode& after) {
  std::vector<RunChange> all;
  add_changes(&before, &after, "", all);
  std::erase_if(all, [](const RunChange& change) {
    return change.key.starts_with("started") ||
           change.key.starts_with("published");
  });
  return all;
}

bool moves_the_end(const RunChange& change) {
  return is_among(kEndKeys, change.key);
}

bool keeps_the_numbers(const RunChange& change) {
  return is_among(kWorkKeys, change.key) || change.key.starts_with("log.");
}

void check_may_change(const RunChange& change, const ResumeOptions& options,
                      const std::string& folder) {
  if (moves_the_end(change) || keeps_the_numbers(change) ||
      is_among(kEvalKeys, change.key) ||
      (options.new_lr && change.key == "optimizer.lr")) {
    return;
  }
  const auto shown = [](const std::string& value) {
    return value.empty() ? "not there" : value;
  };
  throw ConfigError("'" + change.key +
                    "' differs from the configuration the run was started "
                    "with (" +
                    RunFolder(folder).config() + "): it was " +
                    shown(change.before) + " and is " + shown(change.after) +
                    way_out(change, folder));
}

RunChange change_of(const OrderedJson& json) {
  return {count_of(json.at("epoch")), count_of(json.at("step")),
          json.at("key").get<std::string>(), text_of(json.at("old")),
          text_of(json.at("new"))};
}

OrderedJson json_of(const RunChange& change) {
  return {{"epoch", change.epoch},
          {"step", change.step},
          {"key", change.key},
          {"old", change.before},
          {"new", change.after}};
}

std::vector<RunChange> read_run_changes(const std::string& path) {
  std::vector<RunChange> changes;
  if (!path_exists(path)) return changes;
  try {
    for (const OrderedJson& one :
         parse_json(read_file(path, kMaxChangesBytes))) {
      changes.push_back(change_of(one));
    }
  } catch (const OrderedJson::exception&) {
    throw DataError(path + ": not the changes.json that kith train writes");
  }
  return changes;
}

void write_run_changes(const std::string& path,
                       const std::vector<RunChange>& changes) {
  OrderedJson json = OrderedJson::array();
  for (const RunChange& change : changes) json.push_back(json_of(change));
  write_file_atomically(path, json.dump(2) + "\n");
}

}  // namespace kith
