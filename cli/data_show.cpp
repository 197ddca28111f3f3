#include "cli/data_show.h"

#include <memory>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/json_text.h"
#include "kith/core/log.h"
#include "kith/core/quote.h"
#include "kith/run/run_place.h"
#include "kith/train/pretrained_defaults.h"
#include "kith/use/contact_sheet.h"
#include "kith/use/embed_images.h"

namespace kith {
namespace {

struct ShowFlags {
  std::string path;
  std::string out = "sheet.html";
  std::vector<std::string> overrides;
  bool augment = false;
  bool json = false;
  ContactSheetOptions sheet;
};

bool is_configuration(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

ContactSheet make_sheet(const ShowFlags& flags) {
  if (!flags.overrides.empty() &&
      (!flags.augment || !is_configuration(flags.path))) {
    throw ConfigError(
        "--set changes a configuration, and is for: kith data show "
        "CONFIG.yaml --augment");
  }
  if (!flags.augment)
    return show_images(*data_from_path(flags.path), flags.sheet);
  if (!is_configuration(flags.path)) {
    return show_augmentations(*data_from_path(flags.path), flags.sheet);
  }
  ConfigNode user = load_with_overrides(flags.path, flags.overrides);
  follow_run(user, flags.path);
  const RunConfig config = complete_config(user);
  const std::string taken = pretrained_defaults_text(config);
  if (!taken.empty()) log_info(taken);
  if (config.section("augment").items.empty()) {
    log_warning(flags.path +
                ": 'augment' has no steps, so all views are alike (see: kith "
                "list augmentations)");
  }
  return show_training_views(config, flags.sheet);
}

void run_show(const ShowFlags& flags) {
  const ContactSheet sheet = make_sheet(flags);
  write_contact_sheet(sheet, flags.out);
  if (flags.json) {
    nlohmann::ordered_json json = {{"sheet", flags.out},
                                   {"rows", nlohmann::ordered_json::array()}};
    for (const SheetRow& row : sheet.rows) {
      json["rows"].push_back(
          {{"title", printable(row.title)}, {"text", printable(row.text)}});
    }
    print_json(json);
    return;
  }
  if (flags.out.ends_with(".png")) {  // which has no room for titles
    for (size_t i = 0; i < sheet.rows.size(); ++i) {
      print_line("row " + std::to_string(i + 1) + ": " +
                 printable(sheet.rows[i].title));
    }
  }
  print_line(std::to_string(sheet.rows.size()) + " rows -> " + flags.out);
}

}  // namespace

void add_data_show(CLI::App& data) {
  auto* show = data.add_subcommand(
      "show", "A contact sheet of pictures, or of what augmentations make");
  auto flags = std::make_shared<ShowFlags>();
  show->add_option("path", flags->path,
                   "A configuration (.yaml), a list (.csv), an image folder or "
                   "the folder of a published data set")
      ->required();
  show->add_flag("--augment", flags->augment,
                 "Views as the configuration's training makes them; of data "
                 "without one, what each augmentation makes at its defaults");
  show->add_option("--set", flags->overrides,
                   "Overrides a key of the configuration, such as "
                   "augment.0.p=1; may be repeated")
      ->allow_extra_args(false);
  show->add_option("--out", flags->out,
                   "A page with titles (.html) or the pictures alone (.png)")
      ->capture_default_str();
  show->add_option("--images", flags->sheet.images, "Rows, one a picture")
      ->check(integer(1, 1000))
      ->capture_default_str();
  show->add_option("--views", flags->sheet.views, "Pictures of a row")
      ->check(integer(1, 100))
      ->capture_default_str();
  show->add_option("--seed", flags->sheet.seed, "Other seeds, other views")
      ->check(integer(0))
      ->capture_default_str();
  show->add_flag("--json", flags->json, "One JSON object on standard output");
  show->callback([flags] { run_show(*flags); });
}

}  // namespace kith
