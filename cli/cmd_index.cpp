#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/files.h"
#include "cli/index_changes.h"
#include "cli/index_source.h"
#include "cli/index_words.h"
#include "cli/usage.h"
#include "kith/chart/html.h"
#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/index/export_shards.h"
#include "kith/index/recall.h"
#include "kith/index/stored_index.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct IndexFlags {
  SourceFlags source;
  std::string out;
  std::string kind = "exact";
  std::vector<std::string> overrides;
  std::string export_to;
  int64_t shard_rows = ShardOptions().rows;
  std::string dtype = "float16";
  int64_t seed = 0;
  bool overwrite = false;
  bool json = false;
  DeviceFlags device;
};

void check_out(const IndexFlags& flags) {
  std::error_code none;
  if (fs::equivalent(flags.source.source, flags.out, none)) {
    throw ConfigError("--out " + flags.out +
                      " is the source too: name another file");
  }
  if (flags.overwrite) return;
  for (const std::string& file :
       {flags.out, flags.out + ".items.csv", flags.out + ".json"}) {
    if (!is_there(file)) continue;
    throw ConfigError("--out " + flags.out + ": " + file +
                      " is there already: --overwrite replaces it, kith index "
                      "add adds to an index");
  }
}

void check_usage(const IndexFlags& flags) {
  if (flags.source.source.empty()) {
    throw ConfigError(
        "kith index needs what to index: embeddings (.npy), a model or another "
        "index (see: kith index --help)");
  }
  if (flags.out.empty() && flags.export_to.empty()) {
    throw ConfigError(
        "kith index needs --out INDEX, the file to write, or --export DIR "
        "(see: "
        "kith index --help)");
  }
  if (!flags.out.empty() && fs::is_directory(flags.out)) {
    throw ConfigError("--out " + flags.out + " is a folder: name a file, as " +
                      (fs::path(flags.out) / "index.faiss").string());
  }
  if (!flags.out.empty()) check_out(flags);
  if (!flags.export_to.empty()) check_shard_folder(flags.export_to);
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
  need({"--kind", "--set", "--overwrite"}, flags.out, "--out");
  need({"--shard-rows", "--dtype"}, flags.export_to, "--export");
}

/// An empty index of the kind that is wanted. Made before any work is done, so
/// that a wrong option does not wait for it.
std::unique_ptr<VectorIndex> make_index(const IndexFlags& flags,
                                        const IndexSource& source) {
  ConfigNode node = ConfigNode::map();
  node.set("name", ConfigNode::text(flags.kind));
  node.find("name")->where = "--kind";
  for (const std::string& text : flags.overrides) {
    if (text.starts_with("name=")) {
      throw ConfigError("--set " + text + ": give the kind with --kind");
    }
    apply_override(node, text);
  }
  return vector_index_registry().make(
      node, "index",
      {source.dim(), static_cast<uint64_t>(flags.seed), source.items().size()});
}

void fill_index(VectorIndex& index, const Rows& rows, int64_t seed) {
  if (const int64_t wanted = index.training_rows(); wanted > 0) {
    const std::vector<int64_t> drawn =
        draw_positions(rows.count(), wanted, static_cast<uint64_t>(seed));
    log_info("training the index on " + std::to_string(drawn.size()) + " of " +
             std::to_string(rows.count()) + " vectors");
    index.train(rows_at(rows, drawn));
  }
  index.add_rows(watched(rows));
}

/// Of all files of an index.
int64_t index_bytes(const std::string& path) {
  int64_t bytes = 0;
  for (const char* end : {"", ".items.csv", ".json"}) {
    bytes += static_cast<int64_t>(fs::file_size(path + end));
  }
  return bytes;
}

/// Builds and saves the index; what there is to say of it.
Json build_index(std::unique_ptr<VectorIndex> index, const IndexSource& source,
                 const Rows& rows, const IndexFlags& flags) {
  fill_index(*index, rows, flags.seed);
  RecallOptions recall;
  recall.seed = static_cast<uint64_t>(flags.seed);
  IndexInfo info;
  info.kind = flags.kind;
  info.model = source.model();
  info.model_hash = source.model_hash();
  if (!index->exact()) info.recall = measure_recall(*index, rows, recall);
  // An exact index reads the rows only now, and streams them to its file.
  StoredIndex(std::move(index), source.items(), info).save(flags.out);
  progress_bar().finish();
  Json json = {{"index", flags.out},
               {"kind", info.kind},
               {"items", rows.count()},
               {"dim", rows.dim()},
               {"bytes", index_bytes(flags.out)},
               {"model", info.model}};
  if (!info.recall.empty()) {
    json["recall"] = info.recall;
    json["recall_queries"] = std::min(recall.queries, rows.count());
  }
  return json;
}

Json export_rows(const IndexSource& source, const Rows& rows,
                 const IndexFlags& flags) {
  const ShardSummary summary =
      export_shards(flags.export_to, rows, source.items(),
                    {flags.shard_rows, flags.dtype == "float16", source.model(),
                     source.model_hash()});
  return {{"folder", flags.export_to}, {"items", rows.count()},
          {"dim", rows.dim()},         {"dtype", flags.dtype},
          {"shards", summary.shards},  {"bytes", summary.bytes}};
}

void print_built(const Json& json) {
  print_line(std::to_string(json["items"].get<int64_t>()) + " items, " +
             std::to_string(json["dim"].get<int64_t>()) + " dimensions, " +
             json["kind"].get<std::string>() + ", " +
             bytes_text(json["bytes"]) + " -> " +
             json["index"].get<std::string>());
  if (!json.contains("recall")) return;
  print_line("recall against exact search, " +
             std::to_string(json["recall_queries"].get<int64_t>()) +
             " queries: " + recall_text(json["recall"]));
}

void print_exported(const Json& json) {
  print_line(std::to_string(json["items"].get<int64_t>()) + " vectors, " +
             std::to_string(json["dim"].get<int64_t>()) + " dimensions, " +
             json["dtype"].get<std::string>() + ", " +
             std::to_string(json["shards"].get<int64_t>()) + " shards, " +
             bytes_text(json["bytes"]) + " -> " +
             json["folder"].get<std::string>());
}

void run_index(const IndexFlags& flags) {
  check_usage(flags);
  const Timer timer;
  const c10::Device device = flags.device.apply();
  const std::unique_ptr<IndexSource> source = flags.source.open(device);
  std::unique_ptr<VectorIndex> empty;
  if (!flags.out.empty()) empty = make_index(flags, *source);
  const std::string target =
      absolute_path(flags.out.empty() ? flags.export_to : flags.out);
  make_folder_of(target);
  const auto lock = flags.out.empty() ? nullptr : lock_index(target);
  const ScratchFile scratch(target);
  const Rows rows = source->rows(scratch.path(), progress_bar());
  Json json = Json::object();
  if (empty) json = build_index(std::move(empty), *source, rows, flags);
  if (!flags.export_to.empty()) {
    json["export"] = export_rows(*source, rows, flags);
  }
  json["seconds"] = timer.seconds();
  if (flags.json) {
    print_json(json);
    return;
  }
  if (json.contains("index")) print_built(json);
  if (json.contains("export")) print_exported(json["export"]);
  print_line("in " + format_fixed(timer.seconds(), 1) + " s");
}

}  // namespace

void add_index(CLI::App& app) {
  auto* command = app.add_subcommand(
      "index", "Make an index to search in, change it, or export its vectors");
  auto flags = std::make_shared<IndexFlags>();
  flags->source.add_to(*command);
  command->add_option("--out", flags->out,
                      "The index, a file of faiss; beside it OUT.items.csv and "
                      "OUT.json");
  command
      ->add_option("--kind", flags->kind,
                   "exact, or for large sets ivf_pq (small) or hnsw (fast); "
                   "see: kith list indexes")
      ->capture_default_str();
  command
      ->add_option("--set", flags->overrides,
                   "An option of the kind, such as lists=1024")
      ->allow_extra_args(false);
  command->add_flag("--overwrite", flags->overwrite,
                    "Replace an index that is there");
  command->add_option("--export", flags->export_to,
                      "Also, or only: write vectors and names as .npy shards "
                      "for a vector store, into a new folder");
  command
      ->add_option("--shard-rows", flags->shard_rows,
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
  add_index_changes(*command);
  command->callback([flags, command] {
    if (!command->get_subcommands().empty()) return;
    check_needed(*command, *flags);
    run_index(*flags);
  });
}

}  // namespace kith
