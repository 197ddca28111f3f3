#include "cli/index_changes.h"

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/index_words.h"
#include "cli/source_flags.h"
#include "kith/core/json_text.h"
#include "kith/core/timer.h"
#include "kith/use/change_index.h"
#include "kith/use/files.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

struct AddFlags {
  AddToIndexOptions options;
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

void run_add(const AddFlags& flags) {
  const Timer timer;
  const AddedToIndex result =
      add_to_index(flags.options, flags.device.apply(), progress_bar());
  if (flags.json) {
    print_json({{"index", flags.options.index},
                {"added", result.added},
                {"replaced", result.replaced},
                {"items", result.items},
                {"seconds", timer.seconds()}});
    return;
  }
  print_line(std::to_string(result.added) + " items added" +
             (result.replaced > 0
                  ? ", " + std::to_string(result.replaced) + " replaced"
                  : "") +
             "; " + std::to_string(result.items) + " in " +
             flags.options.index);
}

void run_remove(const RemoveFlags& flags) {
  const RemovedFromIndex result =
      remove_from_index({flags.index, read_lines(flags.list), flags.list});
  if (flags.json) {
    print_json({{"index", flags.index},
                {"removed", result.removed},
                {"not_there", result.not_there},
                {"items", result.items}});
    return;
  }
  print_line(std::to_string(result.removed) + " items removed; " +
             std::to_string(result.items) + " in " + flags.index);
}

std::string check_words(bool whole) {
  return whole ? "whole: all files have their checksums"
               : "not known: it has no checksums, which kith index writes now";
}

void run_info(const InfoFlags& flags) {
  const IndexSummary index = describe_index(flags.index, flags.check);
  const IndexInfo& info = index.info;
  if (flags.json) {
    Json json = {{"index", flags.index},          {"kind", info.kind},
                 {"items", index.items},          {"removed", index.removed},
                 {"classes", index.classes},      {"dim", index.dim},
                 {"bytes", index.bytes},          {"model", info.model},
                 {"model_hash", info.model_hash}, {"recall", info.recall}};
    if (!info.checkpoint_text.empty()) {
      json["checkpoint"] = info.checkpoint_text;
    }
    if (info.threshold) json["threshold"] = info.threshold->value;
    if (!info.pictures_root.empty()) {
      set_path(json, "pictures_root", info.pictures_root);
    }
    if (index.whole) json["check"] = check_words(*index.whole);
    print_json(json);
    return;
  }
  print_line("kind        " + info.kind);
  print_line("items       " + std::to_string(index.items) +
             (index.removed > 0 ? ", and " + std::to_string(index.removed) +
                                      " removed, whose place is kept"
                                : ""));
  print_line("classes     " + std::to_string(index.classes));
  print_line("dimensions  " + std::to_string(index.dim));
  print_line("file        " + bytes_text(index.bytes));
  print_line("model       " + (info.model.empty() ? "not known" : info.model));
  if (!info.checkpoint_text.empty()) {
    print_line("network     " + info.checkpoint_text);
  }
  if (info.threshold) {
    print_line("answers     from the " + threshold_text(*info.threshold));
  }
  if (!info.pictures_root.empty()) {
    print_line("pictures    below " + info.pictures_root + " only");
  }
  if (!info.recall.empty()) {
    print_line("recall      " + recall_text(info.recall) +
               " of what exact search finds");
  }
  if (index.whole) print_line("check       " + check_words(*index.whole));
}

}  // namespace

void add_index_changes(CLI::App& index) {
  auto* add = index.add_subcommand("add", "Add vectors or images to an index");
  auto add_flags = std::make_shared<AddFlags>();
  add_source_flags(*add, add_flags->options.source);
  add->get_option("source")->required();
  add->add_option("--to", add_flags->options.index, "The index")->required();
  add->add_flag("--replace", add_flags->options.replace,
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
                   "A text file with their paths or names, one per line")
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
