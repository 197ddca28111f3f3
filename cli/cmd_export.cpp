#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/common.h"
#include "cli/published_flags.h"
#include "cli/usage.h"
#include "kith/use/export_run.h"

namespace kith {
namespace {

struct ExportFlags {
  ExportRunOptions options;
  PublishedFlags published;
  bool json = false;
};

void print_export(const ExportFlags& flags) {
  flags.published.check("export", flags.options.model);
  ExportRunOptions options = flags.options;
  options.published = flags.published.published;
  const ExportedRun run = export_run(options);
  if (flags.json) {
    const nlohmann::ordered_json json = {{"out", options.out},
                                         {"checkpoint", run.checkpoint.file},
                                         {"network", run.checkpoint.text()},
                                         {"dim", run.dim},
                                         {"bytes", run.bytes}};
    print_json(json, -1);
    return;
  }
  print_line(
      "Exported " + run.checkpoint.file +
      (run.checkpoint.name.empty() ? ""
                                   : ", the " + run.checkpoint.text() + ",") +
      " to " + options.out + ": embeddings of " + std::to_string(run.dim) +
      " numbers; README.md there tells how to use it");
}

}  // namespace

void add_export(CLI::App& app) {
  auto* command = app.add_subcommand(
      "export", "Write a network for use elsewhere: weights and JSON");
  auto flags = std::make_shared<ExportFlags>();
  flags->published.add_to(*command, flags->options.model);
  command->add_option("--out", flags->options.out, "The folder to write")
      ->required()
      ->type_name("DIR");
  add_checkpoint_flag(*command, flags->options.checkpoint);
  command->add_flag("--overwrite", flags->options.overwrite,
                    "Replaces an export that is in the folder");
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->options.version = kVersion;
  command->callback([flags] { print_export(*flags); });
}

}  // namespace kith
