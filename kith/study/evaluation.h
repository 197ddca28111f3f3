#pragma once

#include <string>
#include <vector>

#include "kith/core/config.h"
#include "kith/core/options.h"

namespace kith {

struct RunResult;

/// An evaluation that follows every training of a study, one of
/// `study.evaluations`:
///
///     evaluations:
///       - {name: corrupted, corruptions: [all]}
///       - {name: roxford5k, data: common/roxford5k.yaml}
///
/// It is a `kith eval` of the finished run, in RUN/eval/NAME, and its metrics
/// are called "NAME/recall_any@1"; those of corrupted images
/// "NAME/gaussian_blur/recall_any@1" and "NAME/mean_of_corrupted/...".
struct StudyEvaluation {
  std::string name;
  std::string data = {};
  std::string checkpoint = {};
  std::string split = {};
  std::vector<std::string> corruptions = {};
  std::vector<double> scales = {};
  std::string whiten = {};
  std::string rerank = {};
  int64_t bootstrap = 1000;

  void describe(OptionSet& set);

  /// What is given to `kith eval` behind the run. `beside`: the folder of the
  /// study's file, where `data` is looked for first.
  std::vector<std::string> words(const std::string& beside) const;

  /// Its folder: "RUN/eval/NAME".
  std::string folder(const std::string& run) const;
};

/// The list `study.evaluations`. ConfigError with file and line.
std::vector<StudyEvaluation> read_evaluations(
    const std::vector<ConfigNode>& nodes);

/// Before an evaluation begins: what an earlier one left is gone, and which
/// training and which options the next is of is written down.
void begin_evaluation(const StudyEvaluation& evaluation,
                      const std::string& run);

/// Whether it was made of the run as it is.
bool is_evaluated(const StudyEvaluation& evaluation, const std::string& run);

/// Adds the metrics of an evaluation that was made to those of its run, with
/// their intervals over the queries.
void add_evaluation(const StudyEvaluation& evaluation, RunResult& run);

}  // namespace kith
