#include "cli/index_changes.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/files.h"
#include "cli/index_source.h"
#include "cli/index_words.h"
#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/index/index_files.h"
#include "kith/index/stored_index.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

struct AddFlags {
  SourceFlags source;
  std::string index;
  bool replace = false;
  bool json = false;
  DeviceFlags device;
};

struct RemoveFlags {
  std::string list;
  std::string index;
  bool json = false;
};

struct InfoFlags {
  std::string index;
  bool check = false;
  bool json = false;
};

/// Before a lock is made for it.
void check_index_is_there(const std::string& path) {
  if (is_there(path) || is_there(record_path(path))) return;
  throw DataError(path + ": no such file; kith index makes an index");
}

/// The names of all items that are there.
std::unordered_set<std::string_view> paths_of(const StoredIndex& index) {
  std::unordered_set<std::string_view> paths;
  paths.reserve(static_cast<size_t>(index.size()));
  for (int64_t i = 0; i < index.count(); ++i) {
    if (!index.is_removed(i)) paths.insert(index.items().path(i));
  }
  return paths;
}

/// Vectors of different models have nothing to do with each other.
void check_same_model(const StoredIndex& index, const IndexSource& source,
                      const AddFlags& flags) {
  if (source.dim() != index.dim()) {
    throw DataError(flags.source.source + " has " +
                    std::to_string(source.dim()) + " dimensions, but " +
                    flags.index + " has " + std::to_string(index.dim()) +
                    ": add what the same model made");
  }
  const IndexInfo& info = index.info();
  if (info.model_hash.empty() || source.model_hash().empty()) {
    log_warning("it is not known whether " + flags.source.source + " and " +
                flags.index + " are of the same model");
  } else if (info.model_hash != source.model_hash()) {
    throw DataError(flags.index + " was made with " + info.model +
                    ", whose weights are not those of " + source.model() +
                    ": add with that model, or make the index anew");
  }
}

/// Those items of the source that the index has already.
std::vector<std::string> twice(const StoredIndex& index,
                               const IndexSource& source) {
  const std::unordered_set<std::string_view> known = paths_of(index);
  std::vector<std::string> names;
  for (int64_t i = 0; i < source.items().size(); ++i) {
    const std::string_view path = source.items().path(i);
    if (known.contains(path)) names.emplace_back(path);
  }
  return names;
}

/// A number behind all that are names of items. Of those that were removed
/// too: another vector should not be known by their names.
int64_t free_number(const ItemTable& items) {
  int64_t next = items.size();
  for (int64_t i = 0; i < items.size(); ++i) {
    const std::string_view path = items.path(i);
    int64_t number = 0;
    const auto [end, error] =
        std::from_chars(path.data(), path.data() + path.size(), number);
    if (error == std::errc() && end == path.data() + path.size() &&
        number < std::numeric_limits<int64_t>::max()) {
      next = std::max(next, number + 1);
    }
  }
  return next;
}

void run_add(const AddFlags& flags) {
  const Timer timer;
  const c10::Device device = flags.device.apply();
  check_index_is_there(flags.index);
  const auto lock = lock_index(flags.index);
  // What it holds already is copied from its file.
  StoredIndex index = StoredIndex::open(flags.index, /*memory_mb=*/0);
  const std::unique_ptr<IndexSource> source =
      flags.source.open(device, free_number(index.items()));
  check_same_model(index, *source, flags);
  const std::vector<std::string> known = twice(index, *source);
  if (!known.empty() && !flags.replace) {
    throw ConfigError(std::to_string(known.size()) + " of " +
                      std::to_string(source->items().size()) +
                      " items are in " + flags.index +
                      " already (first: " + known.front() +
                      "): --replace puts the new vectors in their place");
  }
  const ScratchFile scratch(flags.index);
  const Rows rows = source->rows(scratch.path(), progress_bar());
  const int64_t replaced = known.empty() ? 0 : index.remove(known);
  const bool had_recall = !index.info().recall.empty();
  index.add(watched(rows), source->items());
  index.save(flags.index);
  progress_bar().finish();
  if (had_recall) {
    log_info(
        "the recall that was measured before does not hold any more; make "
        "the index anew to measure it");
  }
  const Json json = {{"index", flags.index},
                     {"added", rows.count()},
                     {"replaced", replaced},
                     {"items", index.size()},
                     {"seconds", timer.seconds()}};
  if (flags.json) {
    print_json(json);
    return;
  }
  print_line(
      std::to_string(rows.count()) + " items added" +
      (replaced > 0 ? ", " + std::to_string(replaced) + " replaced" : "") +
      "; " + std::to_string(index.size()) + " in " + flags.index);
}

void run_remove(const RemoveFlags& flags) {
  check_index_is_there(flags.index);
  const auto lock = lock_index(flags.index);
  StoredIndex index = StoredIndex::open(flags.index, /*memory_mb=*/0);
  const std::unordered_set<std::string_view> known = paths_of(index);
  std::vector<std::string> there;
  std::vector<std::string> missing;
  for (const std::string& line : read_lines(flags.list)) {
    if (line.empty()) continue;
    // An index keeps the absolute paths of files.
    const std::string absolute = absolute_path(line);
    if (known.contains(line)) {
      there.push_back(line);
    } else if (known.contains(absolute)) {
      there.push_back(absolute);
    } else {
      missing.push_back(line);
    }
  }
  if (there.empty()) {
    throw DataError(flags.list + ": none of its " +
                    std::to_string(missing.size()) + " names is in " +
                    flags.index + "; expected paths as in " + flags.index +
                    ".items.csv, one a line");
  }
  if (!missing.empty()) {
    log_warning(std::to_string(missing.size()) + " of the names in " +
                flags.list +
                " are not in the index (first: " + missing.front() + ")");
  }
  const int64_t removed = index.remove(there);
  index.save(flags.index);
  if (flags.json) {
    print_json({{"index", flags.index},
                {"removed", removed},
                {"not_there", missing.size()},
                {"items", index.size()}});
    return;
  }
  print_line(std::to_string(removed) + " items removed; " +
             std::to_string(index.size()) + " in " + flags.index);
}

/// Reads all files of an index. DataError if one is damaged.
std::string check_words(const std::string& index) {
  return check_index(index)
             ? "whole: all files have their checksums"
             : "not known: it has no checksums, which kith index writes now";
}

void run_info(const InfoFlags& flags) {
  const StoredIndex index = StoredIndex::open(flags.index, /*memory_mb=*/0);
  const IndexInfo& info = index.info();
  const IndexData data =
      current_data(flags.index, read_index_record(record_path(flags.index)));
  const auto file_bytes =
      static_cast<int64_t>(std::filesystem::file_size(data.vectors));
  const std::string checked = flags.check ? check_words(flags.index) : "";
  const int64_t removed = index.count() - index.size();
  std::unordered_set<std::string_view> classes;
  for (int64_t i = 0; i < index.count(); ++i) {
    const std::string_view label = index.items().label(i);
    if (!label.empty() && !index.is_removed(i)) classes.insert(label);
  }
  if (flags.json) {
    Json json = {{"index", flags.index},          {"kind", info.kind},
                 {"items", index.size()},         {"removed", removed},
                 {"classes", classes.size()},     {"dim", index.dim()},
                 {"bytes", file_bytes},           {"model", info.model},
                 {"model_hash", info.model_hash}, {"recall", info.recall}};
    if (flags.check) json["check"] = checked;
    print_json(json);
    return;
  }
  print_line("kind        " + info.kind);
  print_line("items       " + std::to_string(index.size()) +
             (removed > 0 ? ", and " + std::to_string(removed) +
                                " removed, whose place is kept"
                          : ""));
  print_line("classes     " + std::to_string(classes.size()));
  print_line("dimensions  " + std::to_string(index.dim()));
  print_line("file        " + bytes_text(file_bytes));
  print_line("model       " + (info.model.empty() ? "not known" : info.model));
  if (!info.recall.empty()) {
    print_line("recall      " + recall_text(info.recall) +
               " of what exact search finds");
  }
  if (flags.check) print_line("check       " + checked);
}

}  // namespace

void add_index_changes(CLI::App& index) {
  auto* add = index.add_subcommand("add", "Add vectors or images to an index");
  auto add_flags = std::make_shared<AddFlags>();
  add_flags->source.add_to(*add);
  add->get_option("source")->required();
  add->add_option("--to", add_flags->index, "The index")->required();
  add->add_flag("--replace", add_flags->replace,
                "Put vectors whose names are there already in place of the old "
                "ones; without it they are refused");
  add->add_flag("--json", add_flags->json,
                "One JSON object on standard output");
  add_flags->device.add_to(*add);
  add->callback([add_flags] { run_add(*add_flags); });

  auto* remove = index.add_subcommand("remove", "Remove items from an index");
  auto remove_flags = std::make_shared<RemoveFlags>();
  remove
      ->add_option("list", remove_flags->list,
                   "A text file with their paths or names, one a line")
      ->required();
  remove->add_option("--from", remove_flags->index, "The index")->required();
  remove->add_flag("--json", remove_flags->json,
                   "One JSON object on standard output");
  remove->callback([remove_flags] { run_remove(*remove_flags); });

  auto* info = index.add_subcommand("info", "What an index is and holds");
  auto info_flags = std::make_shared<InfoFlags>();
  info->add_option("index", info_flags->index, "The index")->required();
  info->add_flag("--check", info_flags->check,
                 "Read all of its files and compare them with their checksums");
  info->add_flag("--json", info_flags->json,
                 "One JSON object on standard output");
  info->callback([info_flags] { run_info(*info_flags); });
}

}  // namespace kith
