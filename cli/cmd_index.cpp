#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/index_changes.h"
#include "cli/index_words.h"
#include "cli/rank_flags.h"
#include "cli/source_flags.h"
#include "cli/this_rank.h"
#include "cli/threshold_flags.h"
#include "cli/usage.h"
#include "kith/chart/html.h"
#include "kith/core/error.h"
#include "kith/core/timer.h"
#include "kith/distributed/launch.h"
#include "kith/use/make_index.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

struct IndexFlags {
  MakeIndexOptions options;
  std::string kind = "exact";
  std::vector<std::string> overrides;
  std::string dtype = "float16";
  int64_t seed = 0;
  bool json = false;
  DeviceFlags device;
  RankFlags ranks;
};

void check_usage(const MakeIndexOptions& options) {
  if (options.source.source.empty()) {
    throw ConfigError(
        "kith index needs what to index: embeddings (.npy), a model or another "
        "index (see: kith index --help)");
  }
  if (options.out.empty() && options.export_to.empty()) {
    throw ConfigError(
        "kith index needs --out INDEX, the file to write, or --export DIR "
        "(see: "
        "kith index --help)");
  }
}

/// Options that would do nothing are not passed over.
void check_needed(const CLI::App& command, const IndexFlags& flags) {
  const auto need = [&](const std::vector<std::string>& options,
                        const std::string& target, const char* name) {
    for (const std::string& option : options) {
      if (command.count(option) == 0 || !target.empty()) continue;
      throw ConfigError(option + " goes with " + name + " only; leave it out");
    }
  };
  need({"--kind", "--set", "--overwrite", "--threshold", "--pictures-root"},
       flags.options.out, "--out");
  need({"--shard-rows", "--dtype"}, flags.options.export_to, "--export");
}

/// The kind that --kind and --set say.
IndexKind kind_of(const IndexFlags& flags) {
  ConfigNode node = ConfigNode::map();
  node.set("name", ConfigNode::text(flags.kind));
  node.find("name")->where = "--kind";
  for (const std::string& text : flags.overrides) {
    if (text.starts_with("name=")) {
      throw ConfigError("--set " + text + ": give the kind with --kind");
    }
    apply_override(node, text, "--set");
  }
  return index_kind(node);
}

Json to_json(const MadeIndex& made, const IndexFlags& flags, double seconds) {
  Json json = Json::object();
  if (!flags.options.out.empty()) {
    json = {{"index", flags.options.out}, {"kind", made.kind},
            {"items", made.items},        {"dim", made.dim},
            {"bytes", made.bytes},        {"model", made.model}};
    if (!made.checkpoint.empty()) json["checkpoint"] = made.checkpoint;
    if (made.threshold) json["threshold"] = made.threshold->value;
  }
  if (!made.recall.empty()) {
    json["recall"] = made.recall;
    json["recall_queries"] = made.recall_queries;
  }
  if (made.shards) {
    json["export"] = {{"folder", flags.options.export_to},
                      {"items", made.items},
                      {"dim", made.dim},
                      {"dtype", flags.dtype},
                      {"shards", made.shards->shards},
                      {"bytes", made.shards->bytes}};
  }
  json["seconds"] = seconds;
  return json;
}

void print_made(const MadeIndex& made, const IndexFlags& flags) {
  const std::string dim = std::to_string(made.dim) + " dimensions, ";
  if (!flags.options.out.empty()) {
    print_line(std::to_string(made.items) + " items, " + dim + made.kind +
               ", " + bytes_text(made.bytes) + " -> " + flags.options.out);
  }
  if (!made.checkpoint.empty()) print_line("by the " + made.checkpoint);
  if (made.threshold) {
    print_line("with the " + threshold_text(*made.threshold));
  }
  if (!made.recall.empty()) {
    print_line("recall against exact search, " +
               std::to_string(made.recall_queries) +
               " queries: " + recall_text(made.recall));
  }
  if (made.shards) {
    print_line(std::to_string(made.items) + " vectors, " + dim + flags.dtype +
               ", " + std::to_string(made.shards->shards) + " shards, " +
               bytes_text(made.shards->bytes) + " -> " +
               flags.options.export_to);
  }
}

void run_index(const IndexFlags& flags) {
  check_usage(flags.options);
  const Timer timer;
  MakeIndexOptions options = flags.options;
  options.half = flags.dtype == "float16";
  options.seed = static_cast<uint64_t>(flags.seed);
  options.kind = kind_of(flags);
  // Before ranks are started, for the first one writes there.
  if (find_ranks().size == 1) check_make_index(options);
  flags.ranks.start();
  const c10::Device device = flags.ranks.device(flags.device);
  options.source.ranks = &flags.ranks.join(device);
  const MadeIndex made = make_index(options, device, progress_bar());
  if (!speaks()) return;
  if (flags.json) {
    print_json(to_json(made, flags, timer.seconds()));
    return;
  }
  print_made(made, flags);
  print_line("in " + format_fixed(timer.seconds(), 1) + " s");
}

}  // namespace

void add_index(CLI::App& app) {
  auto* command = app.add_subcommand(
      "index", "Make an index to search in, change it, or export its vectors");
  auto flags = std::make_shared<IndexFlags>();
  add_source_flags(*command, flags->options.source);
  command->add_option("--out", flags->options.out,
                      "The index, a file of faiss; beside it OUT.items.csv and "
                      "OUT.json");
  command
      ->add_option("--kind", flags->kind,
                   "exact, float16 or int8 (half or a quarter of the room), or "
                   "for large sets ivf_pq (small) or hnsw (fast); see: kith "
                   "list indexes")
      ->capture_default_str();
  command
      ->add_option("--set", flags->overrides,
                   "An option of the kind, such as lists=1024")
      ->allow_extra_args(false);
  command->add_option("--threshold", flags->options.threshold,
                      std::string(kThresholdHelp) +
                          "default: that of an index that is the source");
  command->add_option("--pictures-root", flags->options.pictures_root,
                      "The folder that all pictures are below: kith serve "
                      "shows no others; default: that of an index that is the "
                      "source");
  command->add_flag("--overwrite", flags->options.overwrite,
                    "Replace an index that is there");
  command->add_option("--export", flags->options.export_to,
                      "Also, or only: write vectors and names as .npy shards "
                      "for a vector store, into a new folder");
  command
      ->add_option("--shard-rows", flags->options.shard_rows,
                   "With --export: vectors in a shard")
      ->check(integer(1))
      ->capture_default_str();
  command->add_option("--dtype", flags->dtype, "With --export")
      ->check(one_of({"float16", "float32"}))
      ->capture_default_str();
  command
      ->add_option("--seed", flags->seed,
                   "Of the vectors that are drawn for training and recall")
      ->check(integer(0))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->device.add_to(*command);
  flags->ranks.add_to(*command);
  add_index_changes(*command);
  command->callback([flags, command] {
    if (!command->get_subcommands().empty()) return;
    check_needed(*command, *flags);
    run_index(*flags);
  });
}

}  // namespace kith
