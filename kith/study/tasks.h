#pragma once

#include <string>
#include <vector>

#include "kith/study/search.h"
#include "kith/study/study.h"

namespace kith {

enum class TaskState {
  kWaiting,  ///< For other tasks.
  kToDo,
  kBegun,
  kDone,
};

const char* state_name(TaskState state);

/// A process that a study needs: a training, the scoring of folds, or an
/// evaluation of a training.
struct StudyTask {
  std::string folder;        ///< Below the study's; also the task's name.
  bool joins_folds = false;  ///< `kith folds`, otherwise `kith train`.
  /// `kith eval` of the run in `run`; null: it is none.
  const StudyEvaluation* evaluation = nullptr;
  std::string run = {};  ///< Below the study's folder.
  ConfigNode config;     ///< Of a training, with every default.
  TaskState state = TaskState::kToDo;
};

/// The tasks of some runs in the order they are begun, and how far they are by
/// the files in `out`: of folds each run is trained on every fold and then
/// scored; of a search every trial is trained, then the runs with the best
/// values, which wait until then; evaluations follow each run. `study` must
/// outlive them. ConfigError if a folder there holds a run
/// of another configuration.
std::vector<StudyTask> study_tasks(const Study& study,
                                   const std::vector<StudyRun>& runs,
                                   const std::string& out);

/// Tells a finished training from any other by what its folder says, not by
/// when it was written: the same for a copy, another after it was trained anew
/// with other settings or to other numbers.
std::string training_mark(const std::string& folder);

/// How far a run is as a whole.
TaskState run_state(const StudyRun& run, const std::string& out);

/// The search of each combination of these runs.
std::vector<SearchResult> search_results(const Study& study,
                                         const std::vector<StudyRun>& runs,
                                         const std::string& out);

/// The configuration of a task in its folder: `kith train` is given this file.
std::string task_config_path(const std::string& folder);

}  // namespace kith
