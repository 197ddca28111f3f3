#include "kith/use/contact_sheet.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "kith/chart/html.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/data/augment.h"
#include "kith/data/input.h"
#include "kith/image/encode.h"
#include "kith/image/picture_grid.h"
#include "kith/train/experiment.h"
#include "kith/use/files.h"

namespace kith {
namespace {

constexpr int kSheetCell = 144;  ///< Pixels of a picture's longer side.

/// Positions of pictures, spread evenly over the training split, without copies
/// that are turned.
std::vector<int64_t> spread_images(const DataSet& data, int64_t count) {
  std::vector<int64_t> train;
  std::vector<int64_t> all;
  const std::vector<Item>& items = data.list().items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].quarter_turns != 0) continue;
    all.push_back(static_cast<int64_t>(i));
    if (items[i].split == Split::kTrain) train.push_back(all.back());
  }
  const std::vector<int64_t>& from = train.empty() ? all : train;
  if (from.empty()) throw DataError("the data have no images to show");
  const auto there = static_cast<int64_t>(from.size());
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < std::min(count, there); ++i) {
    chosen.push_back(
        from[static_cast<size_t>(i * there / std::min(count, there))]);
  }
  return chosen;
}

const Item& item_at(const DataSet& data, int64_t index) {
  return data.list().items[static_cast<size_t>(index)];
}

/// As YAML has it: "0.5", "[0.1, 2]".
std::string value_text(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::kList) return node.scalar;
  std::vector<std::string> values;
  for (const ConfigNode& item : node.items) values.push_back(item.scalar);
  return "[" + join(values) + "]";
}

/// "p: 0.5, sigma: [0.1, 2]"
std::string options_text(const ConfigNode& step) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : step.entries) {
    if (key != "name") parts.push_back(key + ": " + value_text(value));
  }
  return join(parts);
}

/// The part at its defaults, with a size that a picture has.
ConfigNode usual_step(const std::string& name, const Image& image) {
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text(name));
  ConfigNode step = augmentation_registry().complete(section, "augment");
  const ConfigNode* size = step.find("size");
  const int side = std::min(image.width, image.height);
  if (size != nullptr && std::stoll(size->scalar) > side) {
    step.set("size",
             ConfigNode::text(std::to_string(std::max(1, side * 3 / 4))));
  }
  return step;
}

std::string augmentation_names(const ConfigNode& steps) {
  std::vector<std::string> names;
  for (const ConfigNode& step : steps.items) {
    names.push_back(step.find("name")->scalar + " (" + options_text(step) +
                    ")");
  }
  return join(names, ", then ");
}

std::string sheet_page(const ContactSheet& sheet) {
  HtmlPage page(sheet.title, sheet.lead, "section img{max-width:100%}");
  for (const SheetRow& row : sheet.rows) {
    const std::vector<uint8_t> png =
        encode_png(picture_grid({row.pictures}, kSheetCell));
    page.add_section(row.title, "<p>" + html_escape(row.text) +
                                    "</p><img alt=\"" + html_escape(row.title) +
                                    "\" src=\"" + data_uri("image/png", png) +
                                    "\">");
  }
  return page.str();
}

}  // namespace

void ContactSheetOptions::describe(OptionSet& set) {
  set.add("images", images, "Rows, one a picture.").range(1, 1000);
  set.add("views", views, "Pictures of a row.").range(1, 100);
  set.add("seed", seed, "The seed of what is random.").range(0);
}

ContactSheet show_images(const DataSet& data,
                         const ContactSheetOptions& options) {
  const ContactSheetOptions asked = checked(options, "contact sheet");
  ContactSheet sheet;
  sheet.title = "Pictures";
  sheet.lead = "Pictures of the data, spread evenly, as they are stored.";
  for (const int64_t index : spread_images(data, asked.images * asked.views)) {
    if (sheet.rows.empty() ||
        std::ssize(sheet.rows.back().pictures) == asked.views) {
      sheet.rows.push_back({.title = "", .text = "", .pictures = {}});
    }
    SheetRow& row = sheet.rows.back();
    const std::string name = data.list().class_name(item_at(data, index).label);
    row.text += (row.text.empty() ? "" : ", ") + name;
    row.pictures.push_back(data.load(index));
  }
  for (size_t i = 0; i < sheet.rows.size(); ++i) {
    sheet.rows[i].title = "Row " + std::to_string(i + 1);
  }
  return sheet;
}

ContactSheet show_training_views(const RunConfig& config,
                                 const ContactSheetOptions& options) {
  const ContactSheetOptions asked = checked(options, "contact sheet");
  const std::unique_ptr<DataSet> data = make_training_data(config);
  const RunConfig settled = settle_colour(config, *data);
  const auto input = read_options<InputOptions>(
      *settled.section("model").find("input"), "model.input");
  const ConfigNode& steps = settled.section("augment");
  const Augmentations augmentations = make_augmentations(steps);
  ContactSheet sheet;
  sheet.title = "Views of training";
  sheet.lead =
      augmentations.empty()
          ? "The configuration has no 'augment' steps: all views are alike."
          : "First the picture as it is tested, then views by " +
                augmentation_names(steps) + ".";
  for (const int64_t index : spread_images(*data, asked.images)) {
    const Image image = data->load(index);
    SheetRow row;
    const Item& item = item_at(*data, index);
    row.title = data->list().class_name(item.label);
    row.text = item.path;
    Rng unused(0, Stream::kAugment);
    row.pictures.push_back(prepare_image(image, input, {}, unused));
    for (int64_t view = 0; view < asked.views; ++view) {
      Rng rng(static_cast<uint64_t>(asked.seed), Stream::kAugment,
              {0, view, std::ssize(sheet.rows)});
      row.pictures.push_back(prepare_image(image, input, augmentations, rng));
    }
    sheet.rows.push_back(std::move(row));
  }
  return sheet;
}

ContactSheet show_augmentations(const DataSet& data,
                                const ContactSheetOptions& options) {
  const ContactSheetOptions asked = checked(options, "contact sheet");
  const int64_t index = spread_images(data, 1).front();
  const Image image = data.load(index);
  ContactSheet sheet;
  sheet.title = "Augmentations";
  sheet.lead = "Every augmentation at its defaults, of " +
               item_at(data, index).path + ": first the picture as it is.";
  for (const auto& [name, entry] : augmentation_registry().entries()) {
    const ConfigNode step = usual_step(name, image);
    const auto augmentation = augmentation_registry().make(step, "augment");
    SheetRow row;
    row.title = name;
    row.text = entry.summary + ". " + options_text(step);
    row.pictures.push_back(image);
    for (int64_t view = 0; view < asked.views; ++view) {
      Rng rng(static_cast<uint64_t>(asked.seed), Stream::kAugment,
              {0, view, 0});
      row.pictures.push_back(augmentation->apply(image, rng));
    }
    sheet.rows.push_back(std::move(row));
  }
  return sheet;
}

void write_contact_sheet(const ContactSheet& sheet, const std::string& path) {
  const bool is_page = path.ends_with(".html");
  if (!is_page && !path.ends_with(".png")) {
    throw ConfigError(path +
                      ": a contact sheet is a page (.html) or a picture "
                      "(.png): give a name that ends so");
  }
  make_folder_of(path);
  if (is_page) {
    write_file_atomically(path, sheet_page(sheet));
    return;
  }
  std::vector<std::vector<Image>> rows;
  for (const SheetRow& row : sheet.rows) rows.push_back(row.pictures);
  write_png(path, picture_grid(rows, kSheetCell));
}

}  // namespace kith
