#include "kith/study/sweep.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/file_lock.h"
#include "kith/core/log.h"
#include "kith/core/number_text.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/study/claims.h"
#include "kith/study/figure.h"
#include "kith/study/processes.h"
#include "kith/study/table.h"
#include "kith/study/tasks.h"
#include "kith/study/text_table.h"

namespace kith {
namespace {

/// "about 12 min left".
std::string time_left(double seconds) {
  return "about " + rough_duration_text(seconds) + " left";
}

class Sweep {
 public:
  Sweep(const Study& study, const std::vector<StudyRun>& runs,
        const SweepOptions& options, Progress& progress)
      : study_(study), runs_(runs), options_(options), progress_(progress) {}

  std::vector<std::string> run() {
    look();
    progress_.start(study_.name, static_cast<int64_t>(tasks_.size()));
    const InterruptNote interrupts;
    while (begin_tasks(), pool_.size() > 0) {
      show();
      if (InterruptNote::interrupted()) stop();
      const std::optional<ProcessEnd> end = pool_.poll();
      if (end) {
        take(*end);
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    if (InterruptNote::interrupted()) stop();
    progress_.finish();
    note_unfinished();
    return {failed_.begin(), failed_.end()};
  }

 private:
  /// What is known of the tasks now.
  void look() {
    tasks_ = study_tasks(study_, runs_, options_.out);
    const std::vector<std::string> running = pool_.names();
    done_ =
        std::count_if(tasks_.begin(), tasks_.end(), [&](const StudyTask& task) {
          return task.state == TaskState::kDone &&
                 !std::count(running.begin(), running.end(), task.folder);
        });
  }

  /// Starts what can be started. Each is tried once in a sweep.
  void begin_tasks() {
    for (const StudyTask& task : tasks_) {
      if (pool_.size() >= static_cast<size_t>(options_.jobs)) return;
      const bool can_begin =
          task.state == TaskState::kToDo || task.state == TaskState::kBegun;
      if (can_begin && tried_.insert(task.folder).second) begin(task);
    }
  }

  void begin(const StudyTask& task) {
    const std::string folder = options_.out + "/" + task.folder;
    std::vector<std::string> words = options_.program;
    if (task.joins_folds) {
      words.insert(words.end(), {"folds", folder});
    } else if (task.evaluation != nullptr) {
      const std::string run = options_.out + "/" + task.run;
      begin_evaluation(*task.evaluation, run);
      words.insert(words.end(), {"eval", run, "--out", folder});
      const auto own = task.evaluation->words(study_.beside);
      words.insert(words.end(), own.begin(), own.end());
    } else {
      make_folders(folder);
      const std::string config = task_config_path(folder);
      write_file_atomically(config, to_yaml(task.config));
      words.insert(words.end(), {"train", config, "--out", folder, "--resume"});
      if (options_.ranks > 1) {
        words.insert(words.end(), {"--ranks", std::to_string(options_.ranks)});
      }
    }
    words.insert(words.end(), options_.arguments.begin(),
                 options_.arguments.end());
    pool_.start(task.folder, words, folder + "/train.log", place(task.folder));
  }

  /// Gives a task the first place that is free among those of the jobs; the
  /// environment that goes with it.
  std::vector<std::pair<std::string, std::string>> place(
      const std::string& task) {
    if (options_.gpus.empty()) return {};
    places_.resize(options_.gpus.size());
    const std::vector<std::string> running = pool_.names();
    const auto free =
        std::find_if(places_.begin(), places_.end(), [&](const auto& name) {
          return std::count(running.begin(), running.end(), name) == 0;
        });
    KITH_ASSERT(free != places_.end());
    *free = task;
    const auto slot = static_cast<size_t>(free - places_.begin());
    return {{"CUDA_VISIBLE_DEVICES", options_.gpus[slot]}};
  }

  void show() { progress_.advance(done_, join(pool_.names())); }

  void take(const ProcessEnd& end) {
    if (InterruptNote::interrupted()) return;  // it was told to end
    look();
    const auto task =
        std::find_if(tasks_.begin(), tasks_.end(),
                     [&](const StudyTask& t) { return t.folder == end.name; });
    if (task == tasks_.end() || task->state != TaskState::kDone) {
      report_failure(end);
    } else {
      seconds_ += end.seconds;
      ++ended_;
      report(end);
      write_study(study_, options_.out);
    }
  }

  /// "3/36 margin/seed-1: recall_any@1 82.34 (41 s), about 12 min left".
  void report(const ProcessEnd& end) {
    std::string text = std::to_string(done_) + "/" +
                       std::to_string(tasks_.size()) + " " + end.name +
                       (end.succeeded() ? value_of(end.name) : ": diverged");
    text += format_number(" (%.0f s)", end.seconds);
    const auto left = static_cast<double>(tasks_.size()) -
                      static_cast<double>(done_) -
                      static_cast<double>(failed_.size());
    if (left > 0) {
      text += ", " + time_left(left * seconds_ / static_cast<double>(ended_) /
                               static_cast<double>(options_.jobs));
    }
    log_info(text);
  }

  /// The first metric of a run that is finished as a whole.
  std::string value_of(const std::string& folder) const {
    const std::string& metric = study_.metrics.front();
    for (const StudyRun& run : runs_) {
      if (run.folder != folder) continue;
      const RunResult result =
          read_run_result(run, options_.out + "/" + folder);
      const auto found = result.metrics.find(metric);
      if (found == result.metrics.end()) return "";
      return ": " + metric + " " +
             format_metric(study_.kind(metric), found->second);
    }
    return "";
  }

  void report_failure(const ProcessEnd& end) {
    failed_.insert(end.name);
    const std::string log = options_.out + "/" + end.name + "/train.log";
    log_warning(end.name + " failed (" + end.text() + "); the end of " + log +
                ":");
    for (const std::string& line : last_lines(log)) log_info("  " + line);
  }

  /// Tasks that waited in vain are failures too.
  void note_unfinished() {
    for (const StudyTask& task : tasks_) {
      if (task.state != TaskState::kDone) failed_.insert(task.folder);
    }
    for (const SearchResult& search :
         search_results(study_, runs_, options_.out)) {
      if (!search.ended || search.best >= 0) continue;
      log_warning(
          "no trial of a search has a value: " + search.trials.front().folder +
          " and the others; change 'study.search.space'");
    }
  }

  [[noreturn]] void stop() {
    pool_.stop();
    throw RunError("stopped; the same command goes on where it was (" +
                   std::to_string(done_) + " of " +
                   std::to_string(tasks_.size()) + " are done)");
  }

  const Study& study_;
  const std::vector<StudyRun>& runs_;
  const SweepOptions& options_;
  Progress& progress_;
  ProcessPool pool_;
  std::vector<StudyTask> tasks_;
  int64_t done_ = 0;
  std::vector<std::string> places_;  ///< Who was there last; as options_.gpus.
  std::set<std::string> tried_;
  std::set<std::string> failed_;
  double seconds_ = 0;  ///< Of the processes that succeeded.
  int64_t ended_ = 0;
};

}  // namespace

std::vector<std::string> run_sweep(const Study& study,
                                   const std::vector<StudyRun>& runs,
                                   const SweepOptions& options,
                                   Progress& progress) {
  make_figures(study);  // what is wrong with them is said before the training
  const FolderLock lock(options.out, "kith sweep");
  write_file_atomically(study_file(options.out), to_yaml(study.source));
  std::vector<std::string> failed = Sweep(study, runs, options, progress).run();
  write_study(study, options.out);
  return failed;
}

std::string study_file(const std::string& out) { return out + "/study.yaml"; }

void write_study(const Study& study, const std::string& out) {
  make_folders(out);
  write_file_atomically(study_file(out), to_yaml(study.source));
  const StudyResults results = read_results(study, out);
  write_file_atomically(out + "/table.md", study_markdown(results));
  write_file_atomically(out + "/table.csv", study_csv(results));
  write_file_atomically(out + "/table.tex", study_latex(results));
  write_file_atomically(out + "/results.json", study_json(results));
  if (!study.claims.empty()) {
    write_file_atomically(out + "/claims.md", claims_markdown(results));
  }
  if (study.search) {
    write_file_atomically(
        out + "/search.json",
        search_json(study, search_results(study, study_runs(study), out)));
  }
  for (const NamedFigure& figure : make_figures(study)) {
    write_file_atomically(out + "/" + figure.file + ".svg",
                          figure.figure->draw(results));
  }
}

}  // namespace kith
