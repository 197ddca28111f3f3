// What a study consists of: its combinations and runs.
#include <algorithm>

#include "kith/core/error.h"
#include "kith/core/options.h"
#include "kith/study/axes.h"
#include "kith/study/study.h"

namespace kith {
namespace {

constexpr size_t kMaxRuns = 10'000;

/// The combinations that are not skipped, the last axis fastest.
std::vector<std::vector<size_t>> combinations(const Study& study) {
  size_t count = 1;
  for (const StudyAxis& axis : study.axes) {
    count *= axis.values.size();
    if (count > kMaxRuns) {
      throw ConfigError("'study.axes' have more than " +
                        std::to_string(kMaxRuns) + " combinations");
    }
  }
  std::vector<std::vector<size_t>> all;
  for (size_t c = 0; c < count; ++c) {
    std::vector<size_t> places(study.axes.size());
    Labels labels(places.size());
    size_t rest = c;
    for (size_t a = places.size(); a-- > 0;) {
      places[a] = rest % study.axes[a].values.size();
      rest /= study.axes[a].values.size();
      labels[a] = study.axes[a].values[places[a]].label;
    }
    const bool skipped =
        std::any_of(study.skip.begin(), study.skip.end(),
                    [&](const Labels& row) { return fits(row, labels); });
    if (!skipped) all.push_back(std::move(places));
  }
  return all;
}

}  // namespace

bool fits(const Labels& wanted, const Labels& labels) {
  for (size_t a = 0; a < labels.size() && a < wanted.size(); ++a) {
    if (!wanted[a].empty() && wanted[a] != labels[a]) return false;
  }
  return true;
}

int64_t Study::axis(const std::string& wanted) const {
  for (size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].name == wanted) return static_cast<int64_t>(a);
  }
  return -1;
}

std::vector<std::string> Study::axis_names() const {
  std::vector<std::string> names;
  for (const StudyAxis& one : axes) names.push_back(one.name);
  return names;
}

const std::string& Study::kind(const std::string& column) const {
  for (const StudyAverage& average : averages) {
    if (average.name == column) return average.metrics.front();
  }
  return column;
}

std::vector<StudyRun> study_runs(const Study& study) {
  std::vector<StudyRun> runs;
  for (const std::vector<size_t>& places : combinations(study)) {
    StudyRun run;
    run.config = study.base;
    std::string folder;
    for (size_t a = 0; a < places.size(); ++a) {
      const AxisValue& value = study.axes[a].values[places[a]];
      run.labels.push_back(value.label);
      folder += folder_name(value.label) + "/";
      merge_config(run.config, value.over);
    }
    for (int64_t seed : study.seeds) {
      run.seed = seed;
      run.folder = folder + "seed-" + std::to_string(seed);
      runs.push_back(run);
      merge_config(
          runs.back().config,
          config_of_key("train.seed", ConfigNode::text(std::to_string(seed))));
      if (runs.size() > kMaxRuns) {
        throw ConfigError("the study has more than " +
                          std::to_string(kMaxRuns) + " runs");
      }
    }
  }
  return runs;
}

std::vector<StudyRun> select_runs(const Study& study,
                                  const std::vector<std::string>& only) {
  std::vector<std::string> known;
  std::vector<bool> restricted;
  for (const StudyAxis& axis : study.axes) {
    restricted.push_back(false);
    for (const AxisValue& value : axis.values) {
      known.push_back(value.label);
      if (std::count(only.begin(), only.end(), value.label)) {
        restricted.back() = true;
      }
    }
  }
  for (const std::string& label : only) {
    if (!std::count(known.begin(), known.end(), label)) {
      throw_unknown("option 'only'", "label", label, known);
    }
  }
  std::vector<StudyRun> runs = study_runs(study);
  std::erase_if(runs, [&](const StudyRun& run) {
    for (size_t a = 0; a < run.labels.size(); ++a) {
      if (restricted[a] &&
          !std::count(only.begin(), only.end(), run.labels[a])) {
        return true;
      }
    }
    return false;
  });
  return runs;
}

std::string describe_labels(const Study& study, const Labels& labels) {
  std::string text;
  for (size_t a = 0; a < labels.size(); ++a) {
    if (labels[a].empty()) continue;
    text += (text.empty() ? "" : ", ") + study.axes[a].name + " = " + labels[a];
  }
  return text;
}

const PublishedRow* published_row(const Study& study, const Labels& labels) {
  for (const PublishedRow& row : study.published) {
    if (fits(row.labels, labels)) return &row;
  }
  return nullptr;
}

}  // namespace kith
