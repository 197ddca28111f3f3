#include "kith/report/make_report.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/report/image_group.h"
#include "kith/report/lead.h"
#include "kith/run/checkpoint.h"
#include "kith/run/choose_checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_place.h"
#include "kith/train/experiment.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// Data sets by the settings that make them: runs on the same data share one.
class SharedData {
 public:
  const DataSet& of(const RunConfig& config, const std::string& folder,
                    Progress& progress) {
    const TrainOptions& train = config.train;
    // Runs that skip broken images may have left out others than the rest.
    const bool has_list = path_exists(RunFolder(folder).left_out());
    std::unique_ptr<DataSet>& data =
        sets_[to_yaml(run_data(config.tree)) +
              std::to_string(train.validation) + " " +
              std::to_string(train.folds) + " " + std::to_string(train.fold) +
              (has_list ? folder : "")];
    if (data != nullptr) return *data;
    data = make_training_data(config);
    leave_out_as_in_run(*data, folder, train.workers, progress);
    return *data;
  }

 private:
  std::map<std::string, std::unique_ptr<DataSet>> sets_;
};

/// Embeds the images that a run is tested with, as its configuration says. Its
/// network is gone afterwards.
EmbeddedRun embed_run(const RunRecord& run, const ReportOptions& options,
                      SharedData& data, c10::Device device,
                      Progress& progress) {
  ConfigNode own = run.config;
  follow_run(own, run.folder);
  const RunConfig config = complete_config(own);
  EmbeddedRun seen;
  if (run.duplicates) seen.duplicates = &*run.duplicates;
  seen.data = &data.of(config, run.folder, progress);
  const ChosenCheckpoint checkpoint =
      choose_checkpoint(run.folder, options.checkpoint);
  const LoadedModel model = load_model(checkpoint.file, device);
  EvaluatorOptions evaluation =
      evaluator_options(config.eval, config.train.workers);
  evaluation.embed.network = checkpoint.file;
  seen.insight.network = checkpoint.text();
  log_info(run.name + ": looking at what its " + checkpoint.text() + " finds");
  seen.split = Evaluator(*seen.data, evaluation).embed(*model.net, progress);
  add_activations(*model.net, *seen.data, seen.split, options.insight,
                  seen.insight);
  return seen;
}

/// Runs that are tested with the same images, in the order of the report.
std::vector<std::vector<size_t>> equal_images(
    const std::vector<std::optional<EmbeddedRun>>& seen) {
  std::vector<std::vector<size_t>> groups;
  for (size_t run = 0; run < seen.size(); ++run) {
    if (!seen[run]) continue;
    bool placed = false;
    for (size_t g = 0; g < groups.size() && !placed; ++g) {
      placed = same_images(*seen[groups[g].front()], *seen[run]);
      if (placed) groups[g].push_back(run);
    }
    if (!placed) groups.push_back({run});
  }
  return groups;
}

void show_runs(const ReportOptions& options, c10::Device device,
               Progress& progress, Report& report) {
  // Twice the same bytes: no choice of algorithms by how long they take.
  at::globalContext().setBenchmarkCuDNN(false);
  at::globalContext().setDeterministicCuDNN(true);
  SharedData data;
  std::vector<std::optional<EmbeddedRun>> seen(report.runs.size());
  const auto leave_out = [&](size_t i, const std::exception& error) {
    report.insights[i].missing = error.what();
    log_warning(report.runs[i].name +
                ": only what its log says is in the report: " + error.what());
  };
  for (size_t i = 0; i < seen.size(); ++i) {
    try {
      seen[i] = embed_run(report.runs[i], options, data, device, progress);
    } catch (const DataError& error) {
      leave_out(i, error);
    } catch (const ConfigError& error) {
      leave_out(i, error);
    } catch (const RunError& error) {  // its network is broken
      leave_out(i, error);
    }
  }
  for (const std::vector<size_t>& runs : equal_images(seen)) {
    std::vector<EmbeddedRun*> group;
    for (size_t run : runs) group.push_back(&*seen[run]);
    report.groups.push_back(make_image_group(group, options.insight));
    report.groups.back().runs = runs;
    for (size_t run : runs) {
      report.insights[run] = std::move(seen[run]->insight);
    }
  }
}

/// A run beside itself shows nothing, and would have no name of its own.
void refuse_twice(const std::vector<std::string>& folders) {
  std::map<fs::path, std::string> known;
  for (const std::string& folder : folders) {
    // "runs/a/" is "runs/a".
    std::error_code unknown;
    fs::path path = fs::weakly_canonical(folder, unknown);
    if (unknown) path = full_path(folder).lexically_normal();
    path /= "";
    const auto [found, added] = known.emplace(path.parent_path(), folder);
    if (!added) {
      throw ConfigError(folder + " and " + found->second +
                        " are the same folder: name each run once");
    }
  }
}

void name_as_asked(const std::vector<std::string>& names,
                   std::vector<RunRecord>& runs) {
  if (names.empty()) return;
  if (names.size() != runs.size()) {
    throw ConfigError("option 'name' is given " + std::to_string(names.size()) +
                      " times for " + std::to_string(runs.size()) +
                      " runs: give one for each, in their order");
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), names[i]);
    if (names[i].empty() ||
        found - names.begin() != static_cast<ptrdiff_t>(i)) {
      throw ConfigError("option 'name' '" + names[i] +
                        "': every run needs a name of its own");
    }
    runs[i].name = names[i];
  }
}

}  // namespace

Report make_report(const ReportOptions& options, c10::Device device,
                   Progress& progress) {
  refuse_twice(options.runs);
  Report report;
  for (const std::string& folder : options.runs) {
    report.runs.push_back(read_run(folder));
  }
  name_runs(report.runs);
  name_as_asked(options.names, report.runs);
  report.title =
      options.title.empty() ? report_title(report.runs) : options.title;
  report.lead = report_lead(report.runs);
  report.made_by = options.made_by;
  report.duplicates_hint = options.duplicates_hint;
  report.other_networks = options.network && options.checkpoint != "last";
  report.insights.resize(report.runs.size());
  if (options.network) {
    show_runs(options, device, progress, report);
  } else {
    for (RunInsight& insight : report.insights) {
      insight.missing = "Left out on purpose.";
    }
  }
  return report;
}

size_t write_report(const Report& report, const std::string& path) {
  const std::string page = render_report(report);
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) make_folders(folder);
  write_file_atomically(path, page);
  return page.size();
}

}  // namespace kith
