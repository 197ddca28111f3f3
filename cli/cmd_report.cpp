#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/path.h"
#include "kith/core/timer.h"
#include "kith/report/make_report.h"
#include "kith/study/study_page.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ReportFlags {
  ReportOptions options;
  std::string out;
  int64_t seed = 0;
  bool no_network = false;
  bool json = false;
  DeviceFlags device;
};

/// In the folder of a single run, or where the user is.
std::string report_path(const ReportFlags& flags) {
  if (flags.out.empty()) {
    const std::vector<std::string>& folders = flags.options.runs;
    return folders.size() > 1 ? "report.html"
                              : (fs::path(folders[0]) / "report.html").string();
  }
  if (is_folder(flags.out)) {
    throw ConfigError("--out " + flags.out + " is a folder: name a file, as " +
                      (fs::path(flags.out) / "report.html").string());
  }
  return flags.out;
}

/// What to type to get this page again.
std::string command_line(const ReportFlags& flags) {
  const ReportFlags usual;
  const ReportOptions& options = flags.options;
  std::string text = "kith report";
  for (const std::string& folder : options.runs) {
    text += " " + shell_word(folder);
  }
  for (const std::string& name : options.names) {
    text += " --name " + shell_word(name);
  }
  const auto add = [&](const char* name, const auto& value, const auto& other) {
    if (value != other) text += std::string(" ") + name + std::to_string(value);
  };
  add("--queries ", options.insight.queries, usual.options.insight.queries);
  add("--neighbours ", options.insight.neighbours,
      usual.options.insight.neighbours);
  add("--seed ", flags.seed, usual.seed);
  if (options.checkpoint != usual.options.checkpoint) {
    text += " --checkpoint " + options.checkpoint;
  }
  return text + (flags.no_network ? " --no-network" : "");
}

Json runs_json(const Report& report) {
  Json runs = Json::array();
  for (size_t i = 0; i < report.runs.size(); ++i) {
    Json run = {{"name", report.runs[i].name},
                {"folder", report.runs[i].folder}};
    if (!report.insights[i].missing.empty()) {
      run["missing"] = report.insights[i].missing;
    }
    runs.push_back(run);
  }
  return runs;
}

/// What is of pictures of runs cannot be asked of a study's page.
void refuse_run_flags(const ReportFlags& flags) {
  const ReportOptions usual;
  const ReportOptions& options = flags.options;
  const char* wrong = nullptr;
  if (!options.names.empty()) wrong = "--name";
  if (options.insight.queries != usual.insight.queries) wrong = "--queries";
  if (options.insight.neighbours != usual.insight.neighbours) {
    wrong = "--neighbours";
  }
  if (options.checkpoint != usual.checkpoint) wrong = "--checkpoint";
  if (wrong == nullptr) return;
  throw ConfigError(std::string(wrong) + " is for pages of runs; " +
                    options.runs[0] +
                    " is a study, whose page has tables and curves alone");
}

void report_study(const ReportFlags& flags) {
  const Timer timer;
  refuse_run_flags(flags);
  StudyPageOptions options;
  options.study = flags.options.runs[0];
  options.title = flags.options.title;
  options.out = report_path(flags);
  options.made_by =
      std::string("kith ") + kVersion + " with " + command_line(flags);
  const StudyPage page = make_study_page(options);
  const size_t bytes = write_study_page(page, options.out);
  if (flags.json) {
    print_json({{"report", options.out},
                {"study", options.study},
                {"runs", page.runs},
                {"finished", page.finished},
                {"bytes", bytes},
                {"seconds", timer.seconds()}});
    return;
  }
  print_line(page.lead);
  print_line("Look at it: " +
             full_path(options.out).lexically_normal().string());
}

void run_report(const ReportFlags& flags) {
  for (const std::string& folder : flags.options.runs) {
    if (!is_study_folder(folder)) continue;
    if (flags.options.runs.size() == 1) return report_study(flags);
    throw ConfigError(folder +
                      " is a study: it has a page of its own, kith report " +
                      shell_word(folder));
  }
  const Timer timer;
  const c10::Device device = flags.device.apply();
  const std::string path = report_path(flags);
  ReportOptions options = flags.options;
  options.made_by =
      std::string("kith ") + kVersion + " with " + command_line(flags);
  options.duplicates_hint = "kith eval RUN --diagnostics does";
  options.network = !flags.no_network;
  options.insight.seed = static_cast<uint64_t>(flags.seed);
  Report report = make_report(options, device, progress_bar());
  if (flags.no_network) {
    for (RunInsight& insight : report.insights) {
      insight.missing = "Left out on purpose, with --no-network.";
    }
  }
  const size_t bytes = write_report(report, path);
  if (flags.json) {
    print_json({{"report", path},
                {"runs", runs_json(report)},
                {"bytes", bytes},
                {"seconds", timer.seconds()}});
    return;
  }
  print_line(report.lead);
  print_line("Look at it: " + full_path(path).lexically_normal().string());
}

}  // namespace

void add_report(CLI::App& app) {
  auto* command = app.add_subcommand(
      "report",
      "Show runs, or a study, in one page: curves, tables, what is found");
  auto flags = std::make_shared<ReportFlags>();
  ReportOptions& options = flags->options;
  command
      ->add_option("runs", options.runs,
                   "Folders of runs, several are shown side by side; or the "
                   "folder of a study, as kith sweep makes it")
      ->required()
      ->type_name("RUN");
  command->add_option("--out", flags->out,
                      "The page; default: report.html in the folder of the run "
                      "or study, or here for several runs");
  command
      ->add_option("--name", options.names,
                   "What a run is called, such as \"RS@k, t1 = 1\"; once for "
                   "each run, in their order; default: their folders")
      ->allow_extra_args(false);
  command->add_option("--title", options.title,
                      "Of the page; default: the names of the runs");
  command
      ->add_option("--queries", options.insight.queries,
                   "Examples in each list: pictures that are searched for")
      ->check(integer(1, 200))
      ->capture_default_str();
  command
      ->add_option("--neighbours", options.insight.neighbours,
                   "What is found for each, the nearest first")
      ->check(integer(1, 50))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of everything that is drawn")
      ->check(integer(0))
      ->capture_default_str();
  add_checkpoint_flag(*command, options.checkpoint);
  command->add_flag("--no-network", flags->no_network,
                    "Only what the folders say: no pictures, in a moment and "
                    "without the data");
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->device.add_to(*command);
  command->callback([flags] { run_report(*flags); });
}

}  // namespace kith
