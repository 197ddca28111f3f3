#include "kith/study/claims.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kith/core/error.h"
#include "kith/core/number_text.h"
#include "kith/core/option_info.h"
#include "kith/study/axes.h"
#include "kith/study/study_keys.h"

namespace kith {
namespace {

struct ClaimOptions {
  std::string says;
  std::string metric;

  void describe(OptionSet& set) {
    set.add("says", says, "The claim, in words.");
    set.add("metric", metric,
            "What is compared; without it the first of `metrics`.");
  }
};

/// One combination, or two: the first less the second.
std::vector<Labels> read_claim_side(const ConfigNode& claim, const char* key,
                                    const std::string& path,
                                    const Study& study) {
  const ConfigNode* node = claim.find(key);
  if (node == nullptr) fail_at(claim, "'" + path + "' needs '" + key + "'");
  std::vector<Labels> side;
  if (node->kind != ConfigNode::Kind::kList) {
    side.push_back(
        read_labels(*node, "'" + path + "." + key + "'", study.axes));
    return side;
  }
  for (const ConfigNode& item : node->items) {
    side.push_back(read_labels(item, "'" + path + "." + key + "'", study.axes));
  }
  if (side.size() != 2) {
    fail_at(*node, "'" + path + "." + key +
                       "' must be labels by axis, or a list of two such: the "
                       "first less the second");
  }
  return side;
}

/// The labels of `side` where it has some, those of `open` elsewhere.
Labels closed(const Labels& side, const Labels& open) {
  Labels labels = side;
  for (size_t a = 0; a < labels.size(); ++a) {
    if (labels[a].empty()) labels[a] = open[a];
  }
  return labels;
}

const RunResult* run_of(const StudyResults& results, const Labels& labels,
                        int64_t seed) {
  for (const RunResult& run : results.runs) {
    if (run.labels == labels && run.seed == seed) return &run;
  }
  return nullptr;
}

/// Judges one claim for one combination of open labels.
class Judge {
 public:
  Judge(const StudyResults& results, const StudyClaim& claim, Labels open)
      : results_(results), claim_(claim), open_(std::move(open)) {}

  JudgedClaim judged() {
    std::vector<double> differences, highs, lows;
    for (const int64_t seed : results_.study->seeds) {
      const std::optional<double> high = value(claim_.higher, seed);
      const std::optional<double> low = value(claim_.lower, seed);
      if (!high || !low) continue;
      highs.push_back(*high);
      lows.push_back(*low);
      differences.push_back(*high - *low);
    }
    JudgedClaim result;
    result.claim = &claim_;
    result.open = open_;
    result.difference = spread_of(differences);
    result.higher = spread_of(highs).mean;
    result.lower = spread_of(lows).mean;
    result.reason = reason(result.difference);
    result.verdict = verdict(result);
    return result;
  }

 private:
  /// Of a side for a seed, if its runs are finished.
  std::optional<double> value(const std::vector<Labels>& side, int64_t seed) {
    double sum = 0;
    for (size_t i = 0; i < side.size(); ++i) {
      const RunResult* run = run_of(results_, closed(side[i], open_), seed);
      if (run == nullptr) return std::nullopt;
      const auto found = run->metrics.find(claim_.metric);
      if (found == run->metrics.end()) return std::nullopt;
      const std::optional<bool> below = ended_below_start(*run);
      has_collapsed_ |= below.value_or(false);
      has_no_start_ |= !below;
      sum += i == 0 ? found->second : -found->second;
    }
    return sum;
  }

  /// By the first column that the training itself was evaluated by, for
  /// `run.metrics` may be of another split. None without a start.
  std::optional<bool> ended_below_start(const RunResult& run) const {
    if (run.curve.empty() || run.curve.front().step != 0) return std::nullopt;
    const auto& start = run.curve.front().metrics;
    const auto& end = run.curve.back().metrics;
    for (const std::string& metric : results_.study->metrics) {
      if (start.count(metric) && end.count(metric)) {
        return end.at(metric) < start.at(metric);
      }
    }
    return std::nullopt;
  }

  std::string reason(const Spread& difference) const {
    if (difference.count == 0) return "not run";
    if (difference.count < kLeastRunsOfInterval)
      return "fewer than three seeds";
    if (!results_.study->search) return "nothing was searched";
    if (has_collapsed_) return "a training ended below its start";
    if (has_no_start_) return "a start was not evaluated (eval.before)";
    return "";
  }

  static std::string verdict(const JudgedClaim& claim) {
    const Spread& difference = claim.difference;
    if (!claim.reason.empty()) return "undecided";
    if (difference.mean - difference.half_width > 0) return "confirmed";
    if (difference.mean + difference.half_width < 0) return "refuted";
    return "undecided";
  }

  const StudyResults& results_;
  const StudyClaim& claim_;
  Labels open_;
  bool has_collapsed_ = false;
  bool has_no_start_ = false;
};

/// Whether a claim says nothing of an axis.
bool is_open(const StudyClaim& claim, size_t axis) {
  const auto is_empty = [axis](const Labels& labels) {
    return labels[axis].empty();
  };
  return std::all_of(claim.higher.begin(), claim.higher.end(), is_empty) &&
         std::all_of(claim.lower.begin(), claim.lower.end(), is_empty);
}

}  // namespace

std::vector<OptionInfo> claim_options() { return option_infos<ClaimOptions>(); }

std::vector<StudyClaim> read_claims(const std::vector<ConfigNode>& nodes,
                                    const Study& study) {
  std::vector<StudyClaim> claims;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ConfigNode& node = nodes[i];
    const std::string path = "study.claims." + std::to_string(i);
    const auto options =
        read_options<ClaimOptions>(node, path, {"higher", "lower"});
    if (options.says.empty()) fail_at(node, "'" + path + "' needs 'says'");
    StudyClaim claim{
        options.says, read_claim_side(node, "higher", path, study),
        read_claim_side(node, "lower", path, study),
        options.metric.empty() ? study.metrics.front() : options.metric};
    if (!std::count(study.metrics.begin(), study.metrics.end(), claim.metric)) {
      throw_unknown(node.find("metric")->where,
                    "metric in '" + path + "', not in 'study.metrics':",
                    claim.metric, study.metrics);
    }
    for (size_t a = 0; a < study.axes.size(); ++a) {
      const auto names_it = [&](const Labels& labels) {
        return !labels[a].empty();
      };
      if (!is_open(claim, a) &&
          !(std::all_of(claim.higher.begin(), claim.higher.end(), names_it) &&
            std::all_of(claim.lower.begin(), claim.lower.end(), names_it))) {
        fail_at(node, "'" + path + "' must name the axis '" +
                          study.axes[a].name + "' on both sides or on none");
      }
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::vector<JudgedClaim> judge_claims(const StudyResults& results) {
  const Study& study = *results.study;
  std::vector<JudgedClaim> judged;
  for (const StudyClaim& claim : study.claims) {
    std::vector<Labels> done;
    for (const StudyRun& run : study_runs(study)) {
      Labels open = run.labels;
      for (size_t a = 0; a < open.size(); ++a) {
        if (!is_open(claim, a)) open[a].clear();
      }
      if (std::count(done.begin(), done.end(), open)) continue;
      done.push_back(open);
      judged.push_back(Judge(results, claim, open).judged());
    }
  }
  return judged;
}

TextTable claims_table(const StudyResults& results) {
  const Study& study = *results.study;
  TextTable table;
  table.head = {"claim",  "where", "seeds",      "metric",
                "higher", "lower", "difference", "verdict"};
  for (const JudgedClaim& one : judge_claims(results)) {
    const std::string& kind = study.kind(one.claim->metric);
    table.rows.push_back(
        {one.claim->says, describe_labels(study, one.open),
         std::to_string(one.difference.count), one.claim->metric,
         format_metric(kind, one.higher), format_metric(kind, one.lower),
         plus_minus_text(one.difference.mean, one.difference.half_width,
                         metric_is_share(kind), " ± "),
         one.verdict + (one.reason.empty() ? "" : ": " + one.reason)});
  }
  return table;
}

std::string claims_legend() {
  return "What is claimed to be higher less what is claimed to be lower, seed "
         "by seed, with half of the 95% interval (Student's t): confirmed if "
         "it lies above zero, refuted if below. Shares in percent.";
}

std::string claims_markdown(const StudyResults& results) {
  if (results.study->claims.empty()) return "";
  return markdown_table(claims_table(results)) + "\n" + claims_legend() + "\n";
}

}  // namespace kith
