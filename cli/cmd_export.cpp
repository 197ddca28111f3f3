#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/common.h"
#include "cli/published_flags.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/use/export_run.h"

namespace kith {
namespace {

struct ExportFlags {
  ExportRunOptions options;
  PublishedFlags published;
  std::vector<CLI::Option*> of_onnx;
  bool json = false;

  void add_onnx(CLI::App& command) {
    const auto add = [&](const char* name, std::string& value, const char* help,
                         const std::vector<std::string>& choices) {
      of_onnx.push_back(command.add_option(name, value, help)
                            ->check(one_of(choices))
                            ->capture_default_str());
    };
    command.add_flag("--onnx", options.onnx,
                     "Writes model.onnx too, for clients of ONNX");
    command.add_flag("--triton", options.triton,
                     "Writes a model of the Triton server, and that alone");
    command.add_flag("--huggingface", options.huggingface,
                     "Writes a folder for timm (or torchvision) and Hugging "
                     "Face, with a model card, and that alone");
    OnnxOptions& onnx = options.onnx_options;
    add("--onnx-input", onnx.input,
        "What the ONNX model takes: float32 [N, C, H, W], prepared, or uint8 "
        "[N, H, W, C], which it prepares but for their size",
        {"float32", "uint8"});
    add("--onnx-size", onnx.size,
        "Pictures of any size that the network takes, or of its own alone",
        {"any", "fixed"});
    add("--onnx-weights", onnx.weights,
        "How weights are stored; the model computes in float32 either way",
        {"float32", "float16"});
  }

  void check_onnx() const {
    if (options.onnx && options.triton) {
      throw ConfigError(
          "--triton writes an ONNX model for the Triton server and nothing "
          "else: leave out --onnx, or export twice");
    }
    if (options.huggingface && (options.onnx || options.triton)) {
      throw ConfigError(
          "--huggingface writes a folder for timm and Hugging Face and nothing "
          "else: leave out --" +
          std::string(options.onnx ? "onnx" : "triton") + ", or export twice");
    }
    for (const CLI::Option* option : of_onnx) {
      if (option->count() == 0 || options.onnx || options.triton) continue;
      throw ConfigError(option->get_name() +
                        " is about an ONNX model: add --onnx or --triton");
    }
  }
};

void print_export(const ExportFlags& flags) {
  flags.published.check("export", flags.options.model);
  ExportRunOptions options = flags.options;
  options.published = flags.published.published;
  flags.check_onnx();
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
  print_line("Exported " + run.checkpoint.file +
             (run.checkpoint.name.empty()
                  ? ""
                  : ", the " + run.checkpoint.text() + ",") +
             " to " + options.out + ": embeddings of " +
             std::to_string(run.dim) + " numbers" +
             (options.triton ? "" : "; README.md there tells how to use it"));
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
  flags->add_onnx(*command);
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->options.version = kVersion;
  command->callback([flags] { print_export(*flags); });
}

}  // namespace kith
