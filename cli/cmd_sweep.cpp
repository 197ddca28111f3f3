#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include <torch/cuda.h>

#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/number_text.h"
#include "kith/study/claims.h"
#include "kith/study/figure.h"
#include "kith/study/gpu_slots.h"
#include "kith/study/sweep.h"
#include "kith/study/table.h"
#include "kith/study/tasks.h"
#include "kith/study/text_table.h"

namespace kith {
namespace {

struct SweepFlags {
  std::string study;
  std::string out;
  std::vector<std::string> overrides;
  std::vector<std::string> only;
  std::string seeds;
  std::string format = "markdown";
  int64_t jobs = 1;
  int64_t ranks = 1;
  bool list = false;
  bool json = false;
  DeviceFlags device;
};

Study read_study(const SweepFlags& flags) {
  std::vector<std::string> overrides = flags.overrides;
  if (!flags.seeds.empty()) {
    overrides.push_back("study.seeds=[" + flags.seeds + "]");
  }
  return load_study(flags.study, overrides, "--set");
}

/// "recall_any@1 80.7", of the first metric that has a published number.
std::string published_text(const Study& study, const Labels& labels) {
  const PublishedRow* row = published_row(study, labels);
  if (row == nullptr) return "-";
  for (const std::string& metric : study.metrics) {
    const auto found = row->percent.find(metric);
    if (found != row->percent.end()) {
      return metric + " " + format_number("%g", found->second);
    }
  }
  return "-";
}

/// What would be trained, and how far it is.
void print_runs(const Study& study, const std::vector<StudyRun>& runs,
                const std::string& out) {
  TextTable table;
  for (const StudyAxis& axis : study.axes) table.head.push_back(axis.name);
  table.head.insert(table.head.end(), {"seed", "state", "published"});
  int64_t done = 0;
  for (const StudyRun& run : runs) {
    const TaskState state = run_state(run, out);
    done += state == TaskState::kDone;
    std::vector<std::string> row = run.labels;
    row.push_back(std::to_string(run.seed));
    row.emplace_back(state_name(state));
    row.push_back(published_text(study, run.labels));
    table.rows.push_back(std::move(row));
  }
  print_text(markdown_table(table));
  std::string text = "\n" + study.title + ": " + std::to_string(runs.size()) +
                     " runs, " + std::to_string(done) + " done, in " + out;
  if (study.folds > 0) {
    text += "; each is trained on " + std::to_string(study.folds) + " folds";
  }
  if (study.search) {
    text += "; before them " + std::to_string(study.search->trials) +
            " trials a combination on held-out training classes";
  }
  print_line(text);
}

/// Threads of each rank of each training: all cores shared out, unless
/// --threads says otherwise.
int64_t threads_each(const SweepFlags& flags) {
  if (flags.device.threads > 0) return flags.device.threads;
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  return std::max<int64_t>(1, cores / (flags.jobs * flags.ranks));
}

/// The GPUs of each job where there are several to share out.
std::vector<std::string> gpus_of_jobs(const SweepFlags& flags) {
  if (flags.device.device != "auto" && flags.device.device != "cuda") return {};
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::vector<std::string> gpus =
      visible_gpus(list == nullptr ? std::optional<std::string>() : list,
                   static_cast<int64_t>(torch::cuda::device_count()));
  return gpu_slots(gpus, flags.jobs, flags.ranks);
}

SweepOptions sweep_options(const SweepFlags& flags, const std::string& out) {
  SweepOptions options;
  options.out = out;
  options.jobs = flags.jobs;
  options.ranks = flags.ranks;
  options.gpus = gpus_of_jobs(flags);
  options.program = {"/proc/self/exe"};
  for (const std::string& file : loaded_plugins()) {
    options.program.insert(options.program.end(), {"--plugin", file});
  }
  options.arguments = {"--device", flags.device.device, "--threads",
                       std::to_string(threads_each(flags))};
  return options;
}

void print_results(const SweepFlags& flags, const Study& study,
                   const std::vector<StudyRun>& runs, const std::string& out) {
  const StudyResults results = read_results(study, out);
  if (flags.json) {
    std::printf("%s", study_json(results).c_str());
    return;
  }
  const std::string table = flags.format == "csv"     ? study_csv(results)
                            : flags.format == "latex" ? study_latex(results)
                                                      : study_markdown(results);
  print_text(table);
  if (!study.claims.empty() && flags.format == "markdown") {
    print_text("\n" + claims_markdown(results));
  }
  if (study.search && flags.format == "markdown") {
    print_text("\n" + search_table(study, search_results(study, runs, out)));
  }
  std::fflush(stdout);
}

void run_command(const SweepFlags& flags) {
  const Study study = read_study(flags);
  const std::string out = flags.out.empty() ? "runs/" + study.name : flags.out;
  const std::vector<StudyRun> runs = select_runs(study, flags.only);
  if (flags.list) {
    make_figures(study);
    print_runs(study, runs, out);
    return;
  }
  parse_device(flags.device.device);  // what is wrong with it is said now
  const std::vector<std::string> failed =
      run_sweep(study, runs, sweep_options(flags, out), progress_bar());
  log_info("the study is in " + out +
           " (table.md, table.csv, table.tex, results.json); kith report " +
           shell_word(out) + " shows it in a page");
  print_results(flags, study, runs, out);
  if (!failed.empty()) {
    throw RunError(std::to_string(failed.size()) + " of " +
                   std::to_string(study_tasks(study, runs, out).size()) +
                   " failed: " + join(failed) +
                   "; the same command tries them again");
  }
}

}  // namespace

void add_sweep(CLI::App& app) {
  auto* command = app.add_subcommand(
      "sweep", "Train every run of a study and make its tables and figures");
  auto flags = std::make_shared<SweepFlags>();
  command
      ->add_option("study", flags->study,
                   "A configuration with a section 'study'")
      ->required();
  command
      ->add_option("--set", flags->overrides,
                   "Overrides a key of the study's file, such as "
                   "train.epochs=5; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--out", flags->out,
                      "The study's folder; default: runs/<study's name>");
  command
      ->add_option("--jobs", flags->jobs,
                   "Trainings at a time; they take GPUs in turns")
      ->check(integer(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--ranks", flags->ranks,
                   "Processes of each training (see: kith train --help), with "
                   "a GPU each where there are enough")
      ->check(integer(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--only", flags->only,
                   "Only runs with this label of an axis; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--seeds", flags->seeds,
                      "Same as --set study.seeds=[...], such as 0,1,2");
  command->add_flag("--list", flags->list,
                    "Print the runs and how far they are, and stop");
  command->add_option("--format", flags->format, "Of the table that is printed")
      ->check(one_of({"markdown", "csv", "latex"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "The results as one JSON object instead of a table");
  command
      ->add_option("--device", flags->device.device,
                   "auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  command
      ->add_option("--threads", flags->device.threads,
                   "CPU threads of each training, or of each of its --ranks; "
                   "0: the cores shared among all")
      ->check(integer(0, 1024))
      ->capture_default_str();
  command->callback([flags] { run_command(*flags); });
}

}  // namespace kith
