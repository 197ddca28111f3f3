#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/data/image_files.h"
#include "kith/data/item_sources.h"
#include "kith/data/published_sets.h"
#include "kith/data/sfm_lists.h"
#include "kith/io/csv.h"
#include "kith/io/text_rows.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// Images of the Google Landmarks data sets have names of 16 hexadecimal
/// digits. DataError that starts with `where` unless an id is at least three
/// letters, digits, '_' or '-': a name that stays in its folder.
void check_landmark_id(const std::string& id, const std::string& where) {
  constexpr size_t kMaxSize = 200;  // names of files end at 255
  const bool fits = std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (fits && id.size() >= 3 && id.size() <= kMaxSize) return;
  throw DataError(where + ": " + quote(id) +
                  " is not the id of an image, such as 6e158a47eb2ca3f6");
}

/// Where the second version keeps an image: "a/b/c/abc0123456789def.jpg".
std::string sharded_path(const std::string& id) {
  return std::string() + id[0] + "/" + id[1] + "/" + id[2] + "/" + id + ".jpg";
}

class GldV1Reader {
 public:
  explicit GldV1Reader(const GldV1Options& options) {
    require_folder(options.path, "train.csv of Google Landmarks");
    images_ = find_images(options);
    read_list((fs::path(options.path) / options.list).string());
    report_missing(options.missing == "skip");
    if (!options.validation.empty()) {
      add_sfm_validation(
          list_, (fs::path(options.path) / options.validation).string());
    }
  }

  ImageList take() { return std::move(list_); }

 private:
  static std::string find_images(const GldV1Options& options) {
    const fs::path root = options.path;
    std::string folder = (root / options.images).string();
    if (options.images.empty()) {
      folder =
          first_that_exists({(root / "train").string(), (root / "jpg").string(),
                             (root / "images").string()});
      if (folder.empty()) folder = (root / "train").string();
    }
    require_folder(folder,
                   "the images ID.jpg of Google Landmarks ('gldv1.images')");
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
      if (!path_exists(item.path)) {
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
      throw DataError(message + "; name their folder with 'gldv1.images'");
    }
    if (!skip) {
      throw DataError(message +
                      "; fetch them, or leave them out with 'gldv1.missing: "
                      "skip'");
    }
    log_warning(message + "; they are left out");
  }

  std::string images_;
  int64_t missing_ = 0;
  std::string first_missing_;
  ImageList list_;
};

constexpr const char* kTrain = "train.csv";
constexpr const char* kClean = "train_clean.csv";
constexpr const char* kIndex = "index.csv";
constexpr const char* kSolution = "retrieval_solution_v2.1.csv";

class GldV2Reader {
 public:
  explicit GldV2Reader(const GldV2Options& options)
      : root_(options.path), clean_(options.clean) {
    require_folder(root_, "train_clean.csv of Google Landmarks v2");
    const std::string train = find("train", clean_ ? kClean : kTrain);
    const std::string solution = find("test", kSolution);
    if (train.empty() && solution.empty()) {
      throw DataError(root_ + ": neither " + (clean_ ? kClean : kTrain) +
                      " nor " + kSolution +
                      " is there; set 'gldv2.clean' to the list you have");
    }
    if (!train.empty()) read_train(train);
    if (!solution.empty()) read_test(solution);
    sources_.check_once(list_);
    sources_ = {};
  }

  PublishedCounts published() const {
    PublishedCounts counts;
    counts.source = "Weyand et al., CVPR 2020";
    if (next_label_ == 0) return counts;  // no training split
    counts.train_images = clean_ ? 1580470 : 4132914;
    counts.train_classes = clean_ ? 81313 : 203094;
    return counts;
  }

  ImageList take() { return std::move(list_); }

 private:
  /// A list in the root or in the folder of its images; empty if it is in
  /// neither.
  std::string find(const std::string& folder, const std::string& name) const {
    return first_that_exists(
        {root_ + "/" + name, root_ + "/" + folder + "/" + name});
  }

  void add(const std::string& folder, const std::string& id, int64_t label,
           Split split) {
    Item item;
    item.path = root_ + "/" + folder + "/" + sharded_path(id);
    item.label = label;
    item.split = split;
    list_.items.push_back(std::move(item));
  }

  void read_train(const std::string& file) {
    require_folder(root_ + "/train", "the training images a/b/c/ID.jpg");
    CsvRows rows(file);
    const size_t label_column = rows.head().column("landmark_id");
    const size_t id_column = rows.head().column(clean_ ? "images" : "id");
    while (const CsvRow* row = rows.next()) {
      const std::string where = rows.head().where(*row);
      const int64_t label =
          parse_integer(row->fields[label_column], where, "landmark_id");
      if (label < 0 || label > kMaxLabel) {
        throw DataError(where + ": landmark_id " + std::to_string(label) +
                        " is not in 0 to " + std::to_string(kMaxLabel));
      }
      next_label_ = std::max(next_label_, label + 1);
      for (const std::string& id : split_ids(row->fields[id_column], where)) {
        add("train", id, label, Split::kTrain);
        sources_.add(file, row->line);
      }
    }
    if (list_.items.empty()) throw DataError(file + ": the list has no images");
  }

  void read_test(const std::string& solution) {
    const std::string index = find("index", kIndex);
    if (index.empty()) {
      throw DataError(root_ + ": " + kSolution + " needs " + kIndex +
                      ", the list of the images that are searched");
    }
    require_folder(root_ + "/index", "the index images a/b/c/ID.jpg");
    require_folder(root_ + "/test", "the query images a/b/c/ID.jpg");
    list_.has_query_gallery = true;
    const Positions positions = read_index(index);
    CsvRows rows(solution);
    const size_t id_column = rows.head().column("id");
    const size_t images_column = rows.head().column("images");
    const size_t usage_column = rows.head().column("Usage");
    while (const CsvRow* row = rows.next()) {
      const std::string& answers = row->fields[images_column];
      const std::string& usage = row->fields[usage_column];
      const std::string where = rows.head().where(*row);
      if (usage != "Public" && usage != "Private" && usage != "Ignored") {
        throw DataError(where + ": Usage " + quote(usage) +
                        ", expected Public, Private or Ignored");
      }
      if (usage == "Ignored" || answers == "None") continue;
      check_landmark_id(row->fields[id_column], where);
      add_query(row->fields[id_column], find_answers(answers, positions, where),
                usage == "Public" ? "public" : "private");
      sources_.add(solution, row->line);
    }
    if (list_.truths.empty()) {
      throw DataError(solution + ": no query has right answers");
    }
  }

  using Positions = std::unordered_map<std::string, int64_t>;

  Positions read_index(const std::string& file) {
    Positions positions;
    CsvRows rows(file);
    const size_t id_column = rows.head().column("id");
    while (const CsvRow* row = rows.next()) {
      const std::string& id = row->fields[id_column];
      check_landmark_id(id, rows.head().where(*row));
      positions.emplace(id, static_cast<int64_t>(list_.items.size()));
      add("index", id, own_label(), Split::kTest);
      list_.items.back().is_query = false;
      sources_.add(file, row->line);
    }
    return positions;
  }

  static std::vector<int64_t> find_answers(const std::string& ids,
                                           const Positions& positions,
                                           const std::string& where) {
    std::vector<int64_t> answers;
    for (const std::string& id : split_ids(ids, where)) {
      const auto found = positions.find(id);
      if (found == positions.end()) {
        throw DataError(where + ": " + quote(id) + " is not in " + kIndex);
      }
      answers.push_back(found->second);
    }
    std::sort(answers.begin(), answers.end());
    answers.erase(std::unique(answers.begin(), answers.end()), answers.end());
    return answers;
  }

  void add_query(const std::string& id, std::vector<int64_t> answers,
                 const char* list) {
    QueryTruth truth;
    truth.query = static_cast<int64_t>(list_.items.size());
    truth.easy = std::move(answers);
    list_.lists[list].push_back(truth.query);
    list_.truths.push_back(std::move(truth));
    add("test", id, own_label(), Split::kTest);
    list_.items.back().is_gallery = false;
  }

  /// A label that no other image has.
  int64_t own_label() const {
    return next_label_ + static_cast<int64_t>(list_.items.size());
  }

  /// Ids with single spaces between them; at least one.
  static std::vector<std::string> split_ids(const std::string& text,
                                            const std::string& where) {
    std::vector<std::string> ids;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(' ', begin), text.size());
      if (end > begin) ids.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    if (ids.empty()) throw DataError(where + ": names no images");
    for (const std::string& id : ids) check_landmark_id(id, where);
    return ids;
  }

  static constexpr int64_t kMaxLabel = int64_t{1} << 40;

  std::string root_;
  bool clean_;
  int64_t next_label_ = 0;  ///< Above all landmarks; 0 without training split.
  ItemSources sources_;
  ImageList list_;
};

}  // namespace

void GldV1Options::describe(OptionSet& set) {
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
  set.add("validation", validation,
          "A folder of sfm120k with retrieval-SfM-120k-val-eccv2020.pkl, whose "
          "queries are the validation split. Empty: there is none.");
}

GldV1DataSet::GldV1DataSet(Options options)
    : FileDataSet(kTraits,
                  GldV1Reader(checked_with_path(options, "gldv1")).take()) {
  made_of(options);
}

void GldV2Options::describe(OptionSet& set) {
  set.add("path", path,
          "The folder with train/, index/ and test/, whose images are "
          "a/b/c/ID.jpg, and the published lists beside or in them.")
      .not_empty();
  set.add("clean", clean,
          "Train on the cleaned list, train_clean.csv; otherwise on all of "
          "train.csv.");
}

GldV2DataSet::GldV2DataSet(Options options) : FileDataSet(kTraits) {
  GldV2Reader reader(checked_with_path(options, "gldv2"));
  traits_.published = reader.published();
  list_ = reader.take();
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "gldv1", GldV1DataSet);
KITH_REGISTER(data_set_registry(), "gldv2", GldV2DataSet);

}  // namespace kith
