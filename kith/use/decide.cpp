#include "kith/use/decide.h"

#include <charconv>
#include <cmath>
#include <set>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/run/threshold_file.h"
#include "kith/use/files.h"

namespace kith {
namespace {

template <class Number>
std::optional<Number> number_of_text(const std::string& text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return {};
  return value;
}

/// The labels of the classes that a file names.
std::vector<int64_t> labels_in(const std::string& path,
                               const std::map<int64_t, std::string>* names) {
  std::map<std::string, int64_t> by_name;
  if (names != nullptr) {
    for (const auto& [label, name] : *names) by_name[name] = label;
  }
  std::set<int64_t> labels;
  int64_t number = 0;
  for (const std::string& line : read_lines(path)) {
    ++number;
    if (line.empty()) continue;
    const auto found = by_name.find(line);
    const auto label = found != by_name.end() ? std::optional(found->second)
                                              : number_of_text<int64_t>(line);
    if (!label) {
      throw DataError(path + ":" + std::to_string(number) + ": " + quote(line) +
                      " is no class; expected one name, or label, a line");
    }
    labels.insert(*label);
  }
  if (labels.empty()) throw DataError(path + ": names no class");
  return {labels.begin(), labels.end()};
}

/// Vectors of other images, or of the same ones made otherwise, have other
/// similarities.
void check_fits(const ThresholdFile& file, const std::string& path,
                const std::string& model_hash, const std::string& whose) {
  const std::string of =
      (file.model.empty() ? "other weights" : file.model) +
      (file.checkpoint.empty() ? "" : ", " + file.checkpoint);
  if (model_hash.empty() || file.model_hash.empty()) {
    log_warning("it is not known whether " + path + " was picked for what " +
                whose + " was made with");
  } else if (file.model_hash != model_hash) {
    throw DataError(path + ": a threshold for " + of +
                    ", which are not the weights that " + whose +
                    " was made with; pick one for these: kith eval, with "
                    "option 'threshold'");
  }
  if (!file.descriptor.empty()) {
    throw DataError(path + ": a threshold for images described otherwise (" +
                    file.descriptor +
                    ") than those of an index, which are as the run's "
                    "configuration says; pick one without these options");
  }
}

}  // namespace

DecisionOptions decision_options(const ThresholdOptions& options,
                                 const EvaluateOptions& scoring,
                                 const std::map<int64_t, std::string>* names) {
  DecisionOptions decision;
  decision.wish = ThresholdWish::parse(options.wish);
  decision.misses = scoring.misses;
  decision.bootstrap = scoring.bootstrap;
  decision.seed = scoring.seed;
  decision.memory_mb = scoring.memory_mb;
  decision.ranks = scoring.ranks;
  const std::string& unknown = options.unknown_classes;
  if (const auto share = number_of_text<double>(unknown)) {
    if (!(*share >= 0 && *share < 1)) {
      throw ConfigError("option 'unknown_classes' " + unknown +
                        ": a share of the classes is from 0 to less than 1");
    }
    decision.unknown = *share;
  } else {
    if (!is_there(unknown)) {
      throw ConfigError("option 'unknown_classes' " + unknown +
                        ": neither a share of the classes nor a file that "
                        "names some");
    }
    decision.unknown_labels = labels_in(unknown, names);
  }
  return decision;
}

std::optional<IndexThreshold> threshold_for(const std::string& text,
                                            const std::string& model_hash,
                                            const std::string& whose) {
  if (text.empty()) return {};
  if (const auto value = number_of_text<double>(text)) {
    if (*value >= -1 && *value <= 1) return IndexThreshold{*value, ""};
    throw ConfigError("option 'threshold' " + text +
                      ": a similarity is from -1 to 1");
  }
  if (!is_there(text)) {
    throw ConfigError("option 'threshold' " + text +
                      ": expected a similarity from -1 to 1, or a "
                      "threshold.json that kith eval wrote");
  }
  const ThresholdFile file = read_threshold_file(text);
  check_fits(file, text, model_hash, whose);
  return IndexThreshold{
      file.threshold,
      file.wanted +
          (file.picked_on.empty() ? "" : ", picked on " + file.picked_on)};
}

}  // namespace kith
