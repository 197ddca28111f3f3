#include <cstdio>

#include "cli/common.h"
#include "cli/metrics_report.h"
#include "kith/run/eval_metrics.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_metrics.h"
#include "kith/study/folds.h"

namespace kith {
namespace {

struct FoldsFlags {
  std::string folder;
  bool json = false;
  DeviceFlags device;
};

void run_folds(const FoldsFlags& flags) {
  const EvalResult result =
      score_folds(flags.folder, flags.device.apply(), progress_bar());
  const RunMetrics made = read_run_metrics(RunFolder(flags.folder).metrics());
  const EvalReport report{result, made.protocol, made.split};
  if (flags.json) {
    std::printf("%s", eval_metrics_json(report).c_str());
  } else {
    print_line("best checkpoints of " + std::to_string(made.trained.size()) +
               " folds, " + evaluated_text(report));
    print_metrics(result);
  }
}

}  // namespace

void add_folds(CLI::App& app) {
  auto* command = app.add_subcommand(
      "folds",
      "Score networks trained on folds of the classes, each and concatenated");
  auto flags = std::make_shared<FoldsFlags>();
  command
      ->add_option("folder", flags->folder,
                   "Has fold-1, fold-2, ...: trainings with train.folds")
      ->required();
  command->add_flag("--json", flags->json, "The metrics as one JSON object");
  flags->device.add_to(*command);
  command->callback([flags] { run_folds(*flags); });
}

}  // namespace kith
