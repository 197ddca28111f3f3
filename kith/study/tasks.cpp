#include "kith/study/tasks.h"

#include <algorithm>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/core/sha256.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_metrics.h"
#include "kith/run/run_place.h"
#include "kith/run/run_state.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{4} << 20;
constexpr uint64_t kMaxMarkedBytes = uint64_t{1} << 30;

/// A folder with a run must be of this task.
void check_folder(const std::string& folder, const ConfigNode& config) {
  const std::string path = task_config_path(folder);
  if (!path_exists(path)) {
    if (!path_exists(RunFolder(folder).config())) return;
    throw ConfigError(folder +
                      " holds a run that no sweep began; choose another "
                      "folder with option 'out' or delete the folder");
  }
  const std::string stored = read_file(path, kMaxConfigBytes);
  if (stored == to_yaml(config)) return;
  // Completed again: options that are newer than the run have their defaults.
  const std::string changed = first_difference(
      complete_config(parse_config(stored, path)).tree, config);
  if (changed.empty()) return;
  throw ConfigError("'" + changed +
                    "' differs from the configuration that the run in " +
                    folder +
                    " was begun with (study_config.yaml there); choose another "
                    "folder with option 'out' or delete this one");
}

/// A training: its configuration is completed and its folder looked at.
StudyTask training(const std::string& folder, ConfigNode config,
                   const std::string& out) {
  StudyTask task;
  task.folder = folder;
  task.config = std::move(config);
  const RunFolder place(out + "/" + folder);
  check_folder(place.path(), task.config);
  if (place.is_finished()) {
    task.state = TaskState::kDone;
  } else if (path_exists(place.study_config())) {
    task.state = TaskState::kBegun;
  }
  return task;
}

/// Whether the folds of a run have been scored as they are.
bool folds_scored(const std::string& folder, int64_t folds) {
  const RunFolder run(folder);
  if (!run.is_finished()) return false;
  std::vector<std::string> marks;
  for (int64_t fold = 1; fold <= folds; ++fold) {
    marks.push_back(training_mark(run.fold(fold).path()));
  }
  try {
    return read_run_metrics(run.metrics()).trained == marks;
  } catch (const ReadError&) {
    throw;
  } catch (const DataError&) {  // damaged
    return false;
  }
}

void add_folds(const Study& study, const StudyRun& run, const std::string& out,
               std::vector<StudyTask>& tasks) {
  bool all_done = true;
  for (int64_t fold = 1; fold <= study.folds; ++fold) {
    ConfigNode config = run.config;
    for (const auto& [key, value] : {std::pair("train.folds", study.folds),
                                     std::pair("train.fold", fold)}) {
      merge_config(config,
                   config_of_key(key, ConfigNode::text(std::to_string(value))));
    }
    tasks.push_back(training(RunFolder(run.folder).fold(fold).path(),
                             complete_config(config).tree, out));
    all_done &= tasks.back().state == TaskState::kDone;
  }
  StudyTask join;
  join.folder = run.folder;
  join.joins_folds = true;
  if (!all_done) {
    join.state = TaskState::kWaiting;
  } else if (folds_scored(out + "/" + run.folder, study.folds)) {
    join.state = TaskState::kDone;
  }
  tasks.push_back(std::move(join));
}

void add_trials(const SearchResult& search, const std::string& out,
                std::vector<StudyTask>& tasks) {
  for (size_t t = 0; t < search.trials.size(); ++t) {
    for (const TrialTraining& one : search.trials[t].trainings) {
      tasks.push_back(training(one.folder, one.config, out));
      // It is not tried again where it ended in NaN.
      if (search.results[t].ended ||
          RunFolder(out + "/" + one.folder).has_diverged()) {
        tasks.back().state = TaskState::kDone;
      }
    }
  }
}

void add_chosen(const Study& study, const StudyRun& run,
                const SearchResult& search, const std::string& out,
                std::vector<StudyTask>& tasks) {
  if (search.best >= 0) {
    if (study.folds > 0) {
      add_folds(study, with_chosen_values(run, search), out, tasks);
    } else {
      tasks.push_back(training(run.folder, chosen_config(run, search), out));
    }
    return;
  }
  StudyTask task;
  task.folder = run.folder;
  task.state = TaskState::kWaiting;
  tasks.push_back(std::move(task));
}

void add_evaluations(const Study& study, const StudyRun& run,
                     const std::string& out, std::vector<StudyTask>& tasks) {
  const std::string folder = out + "/" + run.folder;
  for (const StudyEvaluation& evaluation : study.evaluations) {
    StudyTask task;
    task.folder = evaluation.folder(run.folder);
    task.evaluation = &evaluation;
    task.run = run.folder;
    if (!RunFolder(folder).is_finished()) {
      task.state = TaskState::kWaiting;
    } else if (is_evaluated(evaluation, folder)) {
      task.state = TaskState::kDone;
    }
    tasks.push_back(std::move(task));
  }
}

}  // namespace

const char* state_name(TaskState state) {
  switch (state) {
    case TaskState::kWaiting:
      return "waiting";
    case TaskState::kToDo:
      return "to do";
    case TaskState::kBegun:
      return "begun";
    case TaskState::kDone:
      return "done";
  }
  return "";
}

std::string task_config_path(const std::string& folder) {
  return RunFolder(folder).study_config();
}

std::string training_mark(const std::string& folder) {
  const RunFolder run(folder);
  std::string text;
  if (path_exists(run.config())) {
    ConfigNode config = run.read_config();
    forget_start(config);  // the same run in another place
    text = to_yaml(config);
  }
  text += '\0' + read_file(run.metrics(), kMaxMarkedBytes);
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

std::vector<SearchResult> search_results(const Study& study,
                                         const std::vector<StudyRun>& runs,
                                         const std::string& out) {
  std::vector<SearchResult> searches;
  if (!study.search) return searches;
  for (const StudyRun& run : runs) {
    if (!searches.empty() && searches.back().labels == run.labels) continue;
    searches.push_back(search_result(study, run, out));
  }
  return searches;
}

std::vector<StudyTask> study_tasks(const Study& study,
                                   const std::vector<StudyRun>& runs,
                                   const std::string& out) {
  std::vector<StudyTask> tasks;
  const std::vector<SearchResult> searches = search_results(study, runs, out);
  for (const SearchResult& search : searches) add_trials(search, out, tasks);
  for (const StudyRun& run : runs) {
    if (study.search) {
      const auto search = std::find_if(
          searches.begin(), searches.end(),
          [&](const SearchResult& s) { return s.labels == run.labels; });
      add_chosen(study, run, *search, out, tasks);
    } else if (study.folds > 0) {
      add_folds(study, run, out, tasks);
    } else {
      tasks.push_back(
          training(run.folder, complete_config(run.config).tree, out));
    }
    add_evaluations(study, run, out, tasks);
  }
  return tasks;
}

TaskState run_state(const StudyRun& run, const std::string& out) {
  const RunFolder folder(out + "/" + run.folder);
  if (folder.is_finished()) return TaskState::kDone;
  return path_exists(folder.path()) ? TaskState::kBegun : TaskState::kToDo;
}

}  // namespace kith
