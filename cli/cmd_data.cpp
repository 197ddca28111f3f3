#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/data/check.h"
#include "kith/data/write_set.h"
#include "kith/train/run_config.h"

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
  int64_t threads = 0;
  bool json = false;
};

void run_make(const MakeFlags& flags) {
  if (std::filesystem::exists(flags.out + "/dataset.csv")) {
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
    print_line(Json({{"images", count}, {"list", list}}).dump());
  } else {
    print_line(std::to_string(count) + " images -> " + list);
  }
}

void print_split(const SplitSummary& s) {
  std::printf(
      "%-11s %8lld images %7lld classes; per class min %lld, median "
      "%lld, max %lld\n",
      split_name(s.split), static_cast<long long>(s.images),
      static_cast<long long>(s.classes),
      static_cast<long long>(s.min_per_class),
      static_cast<long long>(s.median_per_class),
      static_cast<long long>(s.max_per_class));
  if (!s.single_classes.empty()) {
    std::printf(
        "            %zu classes have one image: they cannot be found "
        "(first: class %lld)\n",
        s.single_classes.size(),
        static_cast<long long>(s.single_classes.front()));
  }
}

Json split_json(const SplitSummary& s) {
  return {{"images", s.images},
          {"classes", s.classes},
          {"min_per_class", s.min_per_class},
          {"median_per_class", s.median_per_class},
          {"max_per_class", s.max_per_class},
          {"single_classes", s.single_classes}};
}

void run_check(const CheckFlags& flags) {
  const std::unique_ptr<DataSet> data = data_from_path(flags.path);
  Json json = {{"splits", Json::object()}};
  for (Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const SplitSummary summary = summarise(data->list(), split);
    if (summary.images == 0) continue;
    json["splits"][split_name(split)] = split_json(summary);
    if (!flags.json) print_split(summary);
  }
  const std::vector<BrokenImage> broken =
      find_broken_images(*data, worker_count(flags.threads), progress_bar());
  json["shared_classes"] = shared_classes(data->list()).size();
  json["broken"] = Json::array();
  for (const BrokenImage& image : broken) {
    json["broken"].push_back(
        {{"path", image.path}, {"problem", image.problem}});
    if (!flags.json) print_line("broken: " + image.problem);
  }
  if (flags.json) {
    print_line(json.dump(2));
  } else {
    print_line("checked " + std::to_string(data->list().items.size()) +
               " images, " + std::to_string(broken.size()) + " broken");
  }
  if (!broken.empty()) {
    throw DataError(flags.path + ": " + std::to_string(broken.size()) +
                    " images cannot be used");
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
  auto* data = app.add_subcommand("data", "Make and check data sets");
  data->require_subcommand(1);
  add_make(*data);
  auto* check = data->add_subcommand(
      "check", "Count the splits, decode every image, list what is broken");
  auto flags = std::make_shared<CheckFlags>();
  check
      ->add_option("path", flags->path,
                   "A configuration (.yaml), a list (.csv) or an image folder")
      ->required();
  check
      ->add_option("--threads", flags->threads,
                   "Threads that decode; 0: one a core")
      ->check(integer(0, 1024))
      ->capture_default_str();
  check->add_flag("--json", flags->json, "One JSON object on standard output");
  check->callback([flags] { run_check(*flags); });
}

}  // namespace kith
