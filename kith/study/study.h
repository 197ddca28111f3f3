#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/config.h"
#include "kith/study/evaluation.h"
#include "kith/study/search_space.h"

namespace kith {

/// A value of an axis: how it is called and what it changes.
struct AxisValue {
  std::string label;
  ConfigNode over;  ///< A map, laid over the configuration (merge_config).
};

/// What is varied.
struct StudyAxis {
  std::string name;
  std::vector<AxisValue> values;
};

/// A value of each axis, in the order of the axes.
using Labels = std::vector<std::string>;

/// What a paper printed for one combination: metric and percent.
struct PublishedRow {
  Labels labels;
  std::map<std::string, double> percent;
};

/// A column that is the mean of others, an entry of `study.averages`.
struct StudyAverage {
  std::string name;                  ///< "Avg"
  std::vector<std::string> metrics;  ///< Of one kind: the first says which.
};

/// That one side has the higher value of a metric, an entry of `study.claims`.
/// A side is a combination, or two: the first less the second. An empty label
/// stands for any, the same on both sides (kith/study/claims.h).
struct StudyClaim {
  std::string says;
  std::vector<Labels> higher;
  std::vector<Labels> lower;
  std::string metric;
};

/// One training of a study.
struct StudyRun {
  Labels labels;
  int64_t seed = 0;
  std::string folder;  ///< Below the study's: "margin/seed-1".
  ConfigNode config;   ///< What `kith train` is given.
};

/// A configuration with a section `study`, which says what is varied:
///
///     base: ../cars196_mobilenet.yaml     # as in any configuration
///     train: {epochs: 20}
///     study:
///       title: Temperature of RS@k on Cars196
///       seeds: [0, 1, 2]
///       axes:                             # every combination is trained
///         - {name: t1, key: loss.t1, values: [0.1, 1, 10]}
///         - name: SiMix
///           values: {without: {}, with: {loss: {simix: true}}}
///       skip: [{t1: 10, SiMix: with}]     # but these
///       metrics: [recall_any@1]           # columns of the table
///       averages: {Avg: [recall_any@1, recall_any@2]}   # and of means
///       published:
///         source: "Patel et al., CVPR 2022, Figure 4"
///         rows: [{t1: 1, SiMix: with, recall_any@1: 88.2}]
///       claims:                           # judged by the runs
///         - {says: SiMix helps, higher: {SiMix: with}, lower: {SiMix:
///         without}}
///       figures:
///         - {name: lines, file: t1, x: t1, y: recall_any@1, series: SiMix}
///
/// An axis with `key` sets that key to each value, and the value's text is its
/// label; one without has a map from labels to what is laid over. Without axes
/// there is one combination. `folds` trains each run that many times, on
/// class-disjoint folds (kith/study/folds.h); `search` finds values on held-out
/// training classes first (kith/study/search_space.h); `evaluations` follow
/// each training (kith/study/evaluation.h).
struct Study {
  std::string name;    ///< Of the file, without folder and ending.
  std::string beside;  ///< The folder of the file; empty: here.
  std::string title;
  ConfigNode source;  ///< The whole configuration, with its title.
  ConfigNode base;    ///< The configuration without `study`.
  std::vector<StudyAxis> axes;
  std::vector<int64_t> seeds;
  std::vector<Labels> skip;  ///< An empty label stands for any.
  std::vector<std::string> metrics;
  std::vector<StudyAverage> averages;
  std::vector<StudyEvaluation> evaluations;
  std::vector<PublishedRow> published;
  std::string published_source;
  std::vector<StudyClaim> claims;
  ConfigNode figures;  ///< A list; read by kith/study/figure.h.
  int64_t folds = 0;   ///< Trainings of a run; 0: one, on all classes.
  std::optional<SearchSpace> search;

  /// The axis of this name; -1 if there is none.
  int64_t axis(const std::string& name) const;
  std::vector<std::string> axis_names() const;

  /// The metric that says what kind of number a column has: itself, or the
  /// first of those that it is the mean of.
  const std::string& kind(const std::string& column) const;
};

/// Whether a configuration has a section `study`.
bool is_study(const ConfigNode& config);

/// The study in a file, with overrides ("a.b=c") applied, which errors name as
/// apply_override() does. Throws ConfigError with file and line, also if one of
/// its runs is not a valid configuration.
Study load_study(const std::string& path,
                 const std::vector<std::string>& overrides = {},
                 const std::string& from = "override");

/// All runs: by combination, the last axis fastest, then by seed. In a search
/// their configurations lack what is yet to be chosen.
std::vector<StudyRun> study_runs(const Study& study);

/// The runs of some labels: an axis with labels among `only` is restricted to
/// them, the others are not. All runs if it is empty. ConfigError for a label
/// that no axis has.
std::vector<StudyRun> select_runs(const Study& study,
                                  const std::vector<std::string>& only);

/// Whether labels, of which an empty one stands for any, are those of a
/// combination.
bool fits(const Labels& wanted, const Labels& labels);

/// "t1 = 0.1, SiMix = with", of the labels that are not empty.
std::string describe_labels(const Study& study, const Labels& labels);

/// The published row of a combination; nullptr if there is none.
const PublishedRow* published_row(const Study& study, const Labels& labels);

/// A configuration that sets one key, "loss.t1", to a value.
ConfigNode config_of_key(const std::string& key, ConfigNode value);

}  // namespace kith
