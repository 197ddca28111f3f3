#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/data_show.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/json_text.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/data/check.h"
#include "kith/data/write_set.h"
#include "kith/train/run_config.h"
#include "kith/use/embed_images.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

struct MakeFlags {
  std::string out;
  int64_t classes = 400;
  int64_t per_class = 20;
  int64_t seed = 0;
  bool json = false;
};

struct CheckFlags {
  std::string path;
  std::string left_out;
  int64_t threads = 0;
  bool json = false;
};

void run_make(const MakeFlags& flags) {
  if (path_exists(flags.out + "/dataset.csv")) {
    throw ConfigError(flags.out +
                      " already holds a data set; choose another "
                      "--out");
  }
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text("glyphs"));
  section.set("classes", ConfigNode::text(std::to_string(flags.classes)));
  section.set("per_class", ConfigNode::text(std::to_string(flags.per_class)));
  section.set("seed", ConfigNode::text(std::to_string(flags.seed)));
  const std::unique_ptr<DataSet> data = make_data_set(section);
  const std::string list = write_data_set(*data, flags.out, progress_bar());
  const size_t count = data->list().items.size();
  if (flags.json) {
    print_json({{"images", count}, {"list", list}}, -1);
  } else {
    print_line(std::to_string(count) + " images -> " + list);
  }
}

/// What a split should count, where its data set is a published one; 0 is a
/// number that is not published.
struct Expected {
  int64_t images = 0;
  int64_t classes = 0;
};

std::optional<Expected> expected_counts(const DataSet& data, Split split) {
  const std::optional<PublishedCounts> published = data.traits().published;
  if (!published || split == Split::kValidation) return std::nullopt;
  if (split == Split::kTest) {
    return Expected{published->test_images, published->test_classes};
  }
  return Expected{published->train_images, published->train_classes};
}

/// "'wren'", or "class 7" of one without a name.
std::string named_class(const ImageList& list, int64_t label) {
  if (!list.class_names.contains(label)) {
    return "class " + std::to_string(label);
  }
  return quote(list.class_name(label));
}

/// The first few, with their number if there are more.
std::string named_classes(const ImageList& list,
                          const std::vector<int64_t>& labels) {
  constexpr size_t kNames = 5;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(labels.size(), kNames); ++i) {
    names.push_back(named_class(list, labels[i]));
  }
  return join(names) + (labels.size() > kNames ? ", ..." : "");
}

void print_split(const ImageList& list, const SplitSummary& s,
                 const std::optional<Expected>& known) {
  const auto beside = [&](int64_t Expected::*count) {
    return known && (*known).*count > 0
               ? " (published " + std::to_string((*known).*count) + ")"
               : std::string();
  };
  const bool differ = s.min_per_class < s.max_per_class;
  const auto of = [&](int64_t label) {
    return differ ? " (" + named_class(list, label) + ")" : std::string();
  };
  std::printf(
      "%-11s %8lld images%s %7lld classes%s; per class min %lld%s, median "
      "%lld, max %lld%s\n",
      split_name(s.split), static_cast<long long>(s.images),
      beside(&Expected::images).c_str(), static_cast<long long>(s.classes),
      beside(&Expected::classes).c_str(),
      static_cast<long long>(s.min_per_class), of(s.smallest_class).c_str(),
      static_cast<long long>(s.median_per_class),
      static_cast<long long>(s.max_per_class), of(s.largest_class).c_str());
  if (!s.single_classes.empty()) {
    print_line("            " + std::to_string(s.single_classes.size()) +
               " classes have one image: they cannot be found (" +
               named_classes(list, s.single_classes) + ")");
  }
}

Json split_json(const ImageList& list, const SplitSummary& s) {
  Json names = Json::array();
  for (const int64_t label : s.single_classes) {
    names.push_back(as_utf8(list.class_name(label)));
  }
  return {{"images", s.images},
          {"classes", s.classes},
          {"min_per_class", s.min_per_class},
          {"median_per_class", s.median_per_class},
          {"max_per_class", s.max_per_class},
          {"smallest_class", as_utf8(list.class_name(s.smallest_class))},
          {"largest_class", as_utf8(list.class_name(s.largest_class))},
          {"single_classes", s.single_classes},
          {"single_class_names", names}};
}

/// Counts of the splits, beside the published ones.
void report_counts(const DataSet& data, bool print, Json& json) {
  json["splits"] = Json::object();
  for (Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    SplitSummary summary = summarise(data.list(), split);
    if (summary.images == 0) continue;
    const bool has_truths =
        split == Split::kTest && !data.list().truths.empty();
    // There labels are made up: lists say what can be found.
    if (has_truths) summary.single_classes.clear();
    const std::optional<Expected> known = expected_counts(data, split);
    Json& counts = json["splits"][split_name(split)] =
        split_json(data.list(), summary);
    if (known && known->images > 0) counts["published_images"] = known->images;
    if (known && known->classes > 0) {
      counts["published_classes"] = known->classes;
    }
    if (has_truths) counts["queries_with_answers"] = data.list().truths.size();
    if (print) print_split(data.list(), summary, known);
    if (print && has_truths) {
      print_line("            " + std::to_string(data.list().truths.size()) +
                 " queries have lists of right answers; labels mean nothing");
    }
  }
  const std::vector<std::string> differences = published_differences(data);
  if (data.traits().published) json["published_differences"] = differences;
  for (const std::string& difference : differences) {
    if (print) print_line("warning: " + difference);
  }
}

void report_shared_classes(const ImageList& list, bool print, Json& json) {
  const std::vector<int64_t> shared = shared_classes(list);
  json["shared_classes"] = shared.size();
  if (!print || shared.empty()) return;
  print_line("warning: " + std::to_string(shared.size()) +
             " training classes are in another split too (first: " +
             printable(list.class_name(shared.front())) + ")");
}

/// Classes of which nothing would be left without the broken images.
void report_lost_classes(const DataSet& data,
                         const std::vector<BrokenImage>& broken, bool print,
                         Json& json) {
  std::map<int64_t, int64_t> left;
  for (const Item& item : data.list().items) ++left[item.label];
  for (const BrokenImage& image : broken) {
    --left[data.list().items[static_cast<size_t>(image.position)].label];
  }
  std::vector<int64_t> lost;
  json["lost_classes"] = Json::array();
  for (const auto& [label, count] : left) {
    if (count > 0) continue;
    lost.push_back(label);
    json["lost_classes"].push_back(as_utf8(data.list().class_name(label)));
  }
  if (!print || lost.empty()) return;
  print_line("warning: of " + std::to_string(lost.size()) +
             " classes no image can be read (" +
             named_classes(data.list(), lost) + ")");
}

void run_check(const CheckFlags& flags) {
  const std::unique_ptr<DataSet> data = data_from_path(flags.path);
  Json json = Json::object();
  report_counts(*data, !flags.json, json);
  report_shared_classes(data->list(), !flags.json, json);
  const std::vector<BrokenImage> broken =
      find_broken_images(*data, worker_count(flags.threads), progress_bar());
  json["broken"] = Json::array();
  for (const BrokenImage& image : broken) {
    Json entry = Json::object();
    set_path(entry, "path", image.path);
    entry["problem"] = image.problem;
    json["broken"].push_back(std::move(entry));
    if (!flags.json) print_line("broken: " + printable(image.problem));
  }
  if (!flags.left_out.empty()) write_left_out(flags.left_out, broken);
  report_lost_classes(*data, broken, !flags.json, json);
  if (flags.json) {
    print_json(json);
  } else {
    print_line("checked " + std::to_string(data->list().items.size()) +
               " images, " + std::to_string(broken.size()) + " broken");
  }
  if (!broken.empty()) {
    throw DataError(flags.path + ": " + std::to_string(broken.size()) +
                    " images cannot be used; repair or remove them, or let "
                    "'data.on_broken: skip' leave them out" +
                    (flags.left_out.empty()
                         ? " (--left-out FILE writes a list of them)"
                         : " (listed in " + flags.left_out + ")"));
  }
}

void add_make(CLI::App& data) {
  auto* make = data.add_subcommand("make", "Write a generated data set");
  make->require_subcommand(1);
  auto* glyphs = make->add_subcommand(
      "glyphs",
      "Hand-drawn characters, 64x64 grey, as PNG files and a "
      "dataset.csv");
  auto flags = std::make_shared<MakeFlags>();
  glyphs->add_option("--out", flags->out, "The folder")->required();
  glyphs
      ->add_option("--classes", flags->classes,
                   "Characters; the first half is the training split")
      ->check(integer(2, 1'000'000))
      ->capture_default_str();
  glyphs
      ->add_option("--per-class", flags->per_class,
                   "Drawings of each character")
      ->check(integer(1, 1'000'000))
      ->capture_default_str();
  glyphs->add_option("--seed", flags->seed, "Other seeds, other characters")
      ->check(integer(0))
      ->capture_default_str();
  glyphs->add_flag("--json", flags->json, "One JSON object on standard output");
  glyphs->callback([flags] { run_make(*flags); });
}

}  // namespace

void add_data(CLI::App& app) {
  auto* data = app.add_subcommand("data", "Make, check and show data sets");
  data->require_subcommand(1);
  add_make(*data);
  add_data_show(*data);
  auto* check = data->add_subcommand(
      "check", "Count the splits, decode every image, list what is broken");
  auto flags = std::make_shared<CheckFlags>();
  check
      ->add_option("path", flags->path,
                   "A configuration (.yaml), a list (.csv), an image folder or "
                   "the folder of a published data set")
      ->required();
  check->add_option("--left-out", flags->left_out,
                    "Write the images that cannot be read, which on_broken: "
                    "skip would leave out, to this file: CSV with position, "
                    "path, problem");
  check
      ->add_option("--threads", flags->threads,
                   "Threads that decode; 0: one per core")
      ->check(integer(0, 1024))
      ->capture_default_str();
  check->add_flag("--json", flags->json, "One JSON object on standard output");
  check->callback([flags] { run_check(*flags); });
}

}  // namespace kith
