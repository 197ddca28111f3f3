#include "kith/study/search_space.h"

#include <cmath>

#include "kith/core/error.h"
#include "kith/core/number_text.h"
#include "kith/core/option_info.h"
#include "kith/core/rng.h"
#include "kith/study/study_keys.h"

namespace kith {
namespace {

constexpr int64_t kMaxTrials = 10'000;

struct RangeOptions {
  double from = NAN;
  double to = NAN;
  std::string scale = "linear";

  void describe(OptionSet& set) {
    set.add("from", from, "The smallest value.");
    set.add("to", to, "The largest value.");
    set.add("scale", scale, "How numbers are spread.")
        .choices({"linear", "log"});
  }
};

SearchKey read_key(const std::string& name, const ConfigNode& node) {
  const std::string path = "study.search.space." + name;
  SearchKey key;
  key.key = name;
  if (node.kind == ConfigNode::Kind::kList && !node.items.empty()) {
    key.values = node.items;
    return key;
  }
  if (!node.is_map()) {
    fail_at(node, "'" + path +
                      "' must be a list of values or a range such as {from: "
                      "1e-5, to: 1e-3, scale: log}");
  }
  const auto range = read_options<RangeOptions>(node, path);
  key.from = range.from;
  key.to = range.to;
  key.log_scale = range.scale == "log";
  if (!(range.from < range.to)) {
    fail_at(node, "'" + path + "' needs 'from' below 'to'");
  }
  if (key.log_scale && range.from <= 0) {
    fail_at(node, "'" + path + ".from' must be greater than 0 on a log scale");
  }
  return key;
}

struct SearchOptions {
  std::string method = "random";
  SearchSpace space;

  void describe(OptionSet& set) {
    set.add("method", method, "How values are tried.")
        .choices({"grid", "random"});
    set.add("trials", space.trials, "Of a random search.").range(1, kMaxTrials);
    set.add("seed", space.seed, "Of the draws and of the trials.").range(0);
    set.add("metric", space.metric, "What is compared on held-out classes.");
  }
};

/// The number of combinations of lists.
int64_t grid_size(const ConfigNode& section, const SearchSpace& space) {
  if (const ConfigNode* trials = section.find("trials")) {
    fail_at(*trials,
            "'study.search.trials' is for a random search; a grid tries "
            "every combination");
  }
  int64_t count = 1;
  for (const SearchKey& key : space.keys) {
    if (key.values.empty()) {
      fail_at(*section.find("space")->find(key.key),
              "a grid needs a list of values for '" + key.key +
                  "'; ranges are for method: random");
    }
    count *= static_cast<int64_t>(key.values.size());
    if (count > kMaxTrials) {
      fail_at(section, "the grid of 'study.search' has more than " +
                           std::to_string(kMaxTrials) +
                           " combinations; use method: random");
    }
  }
  return count;
}

ConfigNode draw(const SearchKey& key, Rng& rng) {
  if (!key.values.empty()) return key.values[rng.below(key.values.size())];
  const double value =
      key.log_scale
          ? std::exp(rng.uniform(std::log(key.from), std::log(key.to)))
          : rng.uniform(key.from, key.to);
  return ConfigNode::text(format_number("%.4g", value));
}

}  // namespace

std::vector<OptionInfo> search_options() {
  return option_infos<SearchOptions>();
}

std::vector<OptionInfo> range_options() { return option_infos<RangeOptions>(); }

void fail_at(const ConfigNode& node, const std::string& message) {
  throw ConfigError((node.where.empty() ? "" : node.where + ": ") + message);
}

SearchSpace read_search_space(const ConfigNode& section) {
  SearchOptions options;
  OptionSet set;
  options.describe(set);
  set.read(section, "study.search", {"space"});
  SearchSpace& space = options.space;
  space.grid = options.method == "grid";
  space.where = section.where;
  if (const ConfigNode* metric = section.find("metric")) {
    space.metric_where = metric->where;
  }
  const ConfigNode* keys = section.find("space");
  if (keys == nullptr || !keys->is_map() || keys->entries.empty()) {
    fail_at(keys == nullptr ? section : *keys,
            "'study.search.space' must be a map from keys to values, such as "
            "{loss.t1: [0.5, 1, 2]}");
  }
  for (const auto& [name, node] : keys->entries) {
    space.keys.push_back(read_key(name, node));
  }
  if (space.grid) space.trials = grid_size(section, space);
  return space;
}

std::vector<TrialValues> search_trials(const SearchSpace& space) {
  std::vector<TrialValues> trials;
  for (int64_t t = 0; t < space.trials; ++t) {
    TrialValues values;
    // Of a grid the last key changes fastest.
    auto left = static_cast<size_t>(space.trials);
    for (size_t k = 0; k < space.keys.size(); ++k) {
      const SearchKey& key = space.keys[k];
      if (space.grid) {
        left /= key.values.size();
        values.emplace_back(
            key.key,
            key.values[static_cast<size_t>(t) / left % key.values.size()]);
      } else {
        Rng rng(static_cast<uint64_t>(space.seed), Stream::kSearch,
                {t, static_cast<int64_t>(k)});
        values.emplace_back(key.key, draw(key, rng));
      }
    }
    trials.push_back(std::move(values));
  }
  return trials;
}

std::string describe_values(const TrialValues& values) {
  std::string text;
  for (const auto& [key, value] : values) {
    std::string shown = to_yaml(value);
    shown.pop_back();
    text += (text.empty() ? "" : ", ") + key + " = " + shown;
  }
  return text;
}

}  // namespace kith
