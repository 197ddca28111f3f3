#include <algorithm>
#include <unordered_map>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/quote.h"
#include "kith/data/data_set.h"
#include "kith/data/image_files.h"
#include "kith/data/item_sources.h"
#include "kith/data/landmark_ids.h"
#include "kith/io/csv.h"
#include "kith/io/text_rows.h"

namespace kith {
namespace {

constexpr const char* kTrain = "train.csv";
constexpr const char* kClean = "train_clean.csv";
constexpr const char* kIndex = "index.csv";
constexpr const char* kSolution = "retrieval_solution_v2.1.csv";

struct GldV2Options {
  std::string path;
  bool clean = true;

  void describe(OptionSet& set) {
    set.add("path", path,
            "The folder with train/, index/ and test/, whose images are "
            "a/b/c/ID.jpg, and the published lists beside or in them.")
        .not_empty();
    set.add("clean", clean,
            "Train on the cleaned list, train_clean.csv; otherwise on all of "
            "train.csv.");
  }
};

/// Google Landmarks, second version. The training split has landmarks for
/// labels. The test split is the index, then those queries that have right
/// answers in it, which lists say and not labels: every such image has a label
/// of its own. Queries are in the lists "public" and "private". Either split
/// may be absent.
class GldV2 final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "Google Landmarks v2 as published: train_clean.csv or train.csv; queries "
      "and index test";
  using Options = GldV2Options;

  explicit GldV2(const Options& options)
      : root_(options.path), clean_(options.clean) {
    if (root_.empty()) throw ConfigError("'data.path' is missing");
    require_folder(root_, "train_clean.csv of Google Landmarks v2");
    const std::string train = find("train", clean_ ? kClean : kTrain);
    const std::string solution = find("test", kSolution);
    if (train.empty() && solution.empty()) {
      throw DataError(root_ + ": neither " + (clean_ ? kClean : kTrain) +
                      " nor " + kSolution +
                      " is there; set 'data.clean' to the list you have");
    }
    if (!train.empty()) read_train(train);
    if (!solution.empty()) read_test(solution);
    sources_.check_once(list_);
    sources_ = {};
  }

  std::optional<PublishedCounts> published() const override {
    PublishedCounts counts;
    counts.source = "Weyand et al., CVPR 2020";
    if (next_label_ == 0) return counts;  // no training split
    counts.train_images = clean_ ? 1580470 : 4132914;
    counts.train_classes = clean_ ? 81313 : 203094;
    return counts;
  }

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
};

const bool gldv2_layouts_added[] = {
    add_layout("gldv2", {kClean}),
    add_layout("gldv2", {std::string("train/") + kClean}),
    add_layout("gldv2", {kSolution}),
    add_layout("gldv2", {std::string("test/") + kSolution})};
const bool gldv2_protocol_added = add_usual_protocol("gldv2", "gldv2");

}  // namespace

KITH_REGISTER(data_set_registry(), "gldv2", GldV2);

}  // namespace kith
