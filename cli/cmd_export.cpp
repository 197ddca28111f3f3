#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/train/export_model.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

struct ExportFlags {
  std::string model;
  std::string out;
  std::string checkpoint;
  bool overwrite = false;
  bool json = false;
};

/// The checkpoint that the flags mean.
std::string chosen_checkpoint(const ExportFlags& flags) {
  if (flags.checkpoint.empty()) return find_checkpoint(flags.model);
  const fs::path model(flags.model);
  const bool has_one_network = !fs::is_directory(model / "checkpoints") &&
                               fs::exists(model / kExportedWeights);
  if (fs::is_directory(model) && !has_one_network) {
    return find_checkpoint(flags.model, flags.checkpoint);
  }
  throw ConfigError("--checkpoint chooses one of a run's folder, but " +
                    flags.model + " is not a run: leave it out");
}

/// Nothing but an earlier export is ever written over.
void check_out(const ExportFlags& flags, const std::string& checkpoint) {
  if (!fs::exists(flags.out)) return;
  if (!fs::is_directory(flags.out)) {
    throw ConfigError("--out " + flags.out + ": is a file; give a folder");
  }
  if (fs::is_empty(flags.out)) return;
  if (!is_export(flags.out)) {
    throw ConfigError(
        "--out " + flags.out +
        ": has files that are not an export; give another folder");
  }
  const fs::path weights = fs::path(flags.out) / kExportedWeights;
  std::error_code ignored;  // of a model that is not there
  if (fs::equivalent(weights, checkpoint, ignored)) {
    throw ConfigError("--out " + flags.out +
                      ": is what is to be exported; give another folder");
  }
  if (!flags.overwrite) {
    throw ConfigError("--out " + flags.out +
                      ": has an export already; --overwrite replaces it");
  }
}

void run_export(const ExportFlags& flags) {
  const std::string checkpoint = chosen_checkpoint(flags);
  check_out(flags, checkpoint);
  const LoadedModel model = load_model(checkpoint, c10::kCPU);
  export_model(model, {origin_of(checkpoint), kVersion}, flags.out);
  const auto bytes = fs::file_size(fs::path(flags.out) / kExportedWeights);
  if (flags.json) {
    const nlohmann::ordered_json json = {{"out", flags.out},
                                         {"checkpoint", checkpoint},
                                         {"dim", model.net->dim()},
                                         {"bytes", bytes}};
    print_json(json, -1);
    return;
  }
  print_line("Exported " + checkpoint + " to " + flags.out +
             ": embeddings of " + std::to_string(model.net->dim()) +
             " numbers; README.md there tells how to use it");
}

}  // namespace

void add_export(CLI::App& app) {
  auto* command = app.add_subcommand(
      "export", "Write a network for use elsewhere: weights and JSON");
  auto flags = std::make_shared<ExportFlags>();
  command
      ->add_option("model", flags->model,
                   "A run's folder, a checkpoint (.safetensors) or an export")
      ->required()
      ->type_name("MODEL");
  command->add_option("--out", flags->out, "The folder to write")
      ->required()
      ->type_name("DIR");
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "Which of a run's networks: last or best; default: last")
      ->check(one_of({"last", "best"}));
  command->add_flag("--overwrite", flags->overwrite,
                    "Replaces an export that is in the folder");
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  command->callback([flags] { run_export(*flags); });
}

}  // namespace kith
