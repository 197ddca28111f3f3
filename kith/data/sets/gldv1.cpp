#include <filesystem>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/data/data_set.h"
#include "kith/data/image_files.h"
#include "kith/data/item_sources.h"
#include "kith/data/landmark_ids.h"
#include "kith/io/csv.h"
#include "kith/io/text_rows.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

struct GldV1Options {
  std::string path;
  std::string list = "train.csv";
  std::string images;
  std::string missing = "error";

  void describe(OptionSet& set) {
    set.add("path", path,
            "The folder; names of files and folders in the other options are "
            "relative to it.")
        .not_empty();
    set.add("list", list,
            "A CSV file with the columns id and landmark_id, such as a "
            "cleaned selection of train.csv.")
        .not_empty();
    set.add("images", images,
            "The folder of the images ID.jpg. Empty: the first of train, jpg "
            "and images that is there.");
    set.add("missing", missing,
            "Images of the list without a file: an error, or left out with a "
            "warning that counts them.")
        .choices({"error", "skip"});
  }
};

/// Google Landmarks, first version: a list of addresses on the web, many of
/// them dead by now, so that copies lack images. All of it is training data.
class GldV1 final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "Google Landmarks v1: train.csv and the images that could be fetched";
  using Options = GldV1Options;

  explicit GldV1(const Options& options) {
    if (options.path.empty()) throw ConfigError("'data.path' is missing");
    require_folder(options.path, "train.csv of Google Landmarks");
    images_ = find_images(options);
    read_list((fs::path(options.path) / options.list).string());
    report_missing(options.missing == "skip");
  }

  std::optional<PublishedCounts> published() const override {
    return PublishedCounts{1060709, 12894, 0, 0,
                           "Noh et al., ICCV 2017; Patel et al., CVPR 2022, "
                           "Table 1"};
  }

 private:
  static std::string find_images(const Options& options) {
    const fs::path root = options.path;
    std::string folder = (root / options.images).string();
    if (options.images.empty()) {
      folder =
          first_that_exists({(root / "train").string(), (root / "jpg").string(),
                             (root / "images").string()});
      if (folder.empty()) folder = (root / "train").string();
    }
    require_folder(folder,
                   "the images ID.jpg of Google Landmarks ('data.images')");
    return folder;
  }

  void read_list(const std::string& file) {
    CsvRows rows(file);
    const size_t id_column = rows.head().column("id");
    const size_t label_column = rows.head().column("landmark_id");
    ItemSources sources;
    int64_t unnamed = 0;
    while (const CsvRow* row = rows.next()) {
      const std::string where = rows.head().where(*row);
      const std::string& id = row->fields[id_column];
      check_landmark_id(id, where);
      if (row->fields[label_column] == "None") {
        ++unnamed;
        continue;
      }
      Item item;
      item.label =
          parse_integer(row->fields[label_column], where, "landmark_id");
      item.path = images_ + "/" + id + ".jpg";
      if (!fs::exists(item.path)) {
        if (missing_++ == 0) first_missing_ = item.path + " (" + where + ")";
        continue;
      }
      list_.items.push_back(std::move(item));
      sources.add(file, row->line);
    }
    if (list_.items.empty() && missing_ == 0) {
      throw DataError(file + ": the list has no images");
    }
    sources.check_once(list_);
    if (unnamed > 0) {
      log_info(file + ": " + std::to_string(unnamed) +
               " images without a landmark (None) are left out");
    }
  }

  void report_missing(bool skip) const {
    if (missing_ == 0) return;
    const size_t total = list_.items.size() + static_cast<size_t>(missing_);
    const std::string message =
        std::to_string(missing_) + " of " + std::to_string(total) +
        " images are missing, the first is " + first_missing_;
    if (list_.items.empty()) {
      throw DataError(message + "; name their folder with 'data.images'");
    }
    if (!skip) {
      throw DataError(message +
                      "; fetch them, or leave them out with 'data.missing: "
                      "skip'");
    }
    log_warning(message + "; they are left out");
  }

  std::string images_;
  int64_t missing_ = 0;
  std::string first_missing_;
};

const bool gldv1_layout_added =
    add_layout("gldv1", {"train.csv", "boxes_split1.csv"});

}  // namespace

KITH_REGISTER(data_set_registry(), "gldv1", GldV1);

}  // namespace kith
