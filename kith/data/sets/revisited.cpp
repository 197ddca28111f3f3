#include <algorithm>
#include <filesystem>
#include <sstream>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/data/ground_truth.h"
#include "kith/data/image_files.h"
#include "kith/data/published_sets.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxListBytes = uint64_t{256} << 20;

class RevisitedReader {
 public:
  explicit RevisitedReader(const RevisitedOptions& options)
      : root_(options.path) {
    require_folder(options.path, "gnd_*.pkl and the images of ROxford, RParis");
    const std::string file = ground_truth_file(options);
    const GroundTruth truth = read_ground_truth(file);
    const std::string images = (root_ / options.images).string();
    require_folder(images, "the images of " + file);
    list_.has_query_gallery = true;
    for (const std::string& name : truth.images) {
      add(images + "/" + name + ".jpg", /*is_query=*/false);
    }
    if (!options.distractors.empty()) add_distractors(options);
    list_.truths = truth.truths;
    for (size_t i = 0; i < truth.queries.size(); ++i) {
      list_.truths[i].query = static_cast<int64_t>(list_.items.size());
      add(images + "/" + truth.queries[i] + ".jpg", /*is_query=*/true);
      if (!options.crop) continue;
      if (!truth.boxes[i]) {
        throw DataError(file + ": gnd[" + std::to_string(i) +
                        "] has no bbx to crop the query to; add it, or set "
                        "'crop: false'");
      }
      list_.items.back().box = truth.boxes[i];
    }
    published_images_ = known_images(file, !options.distractors.empty());
  }

  /// Images and queries; landmarks are not classes here.
  std::optional<PublishedCounts> published() const {
    if (published_images_ == 0) return {};
    return PublishedCounts{0, 0, published_images_, 0,
                           "Radenovic et al., CVPR 2018, with 70 queries"};
  }

  ImageList take() { return std::move(list_); }

 private:
  /// How many images the published lists name, with the queries; 0: of another
  /// file.
  static int64_t known_images(const std::string& file, bool distractors) {
    const std::string name = fs::path(file).filename().string();
    const int64_t more = 70 + (distractors ? 1001001 : 0);
    if (name == "gnd_roxford5k.pkl") return 4993 + more;
    if (name == "gnd_rparis6k.pkl") return 6322 + more;
    return 0;
  }

  std::string ground_truth_file(const RevisitedOptions& options) const {
    if (!options.ground_truth.empty()) {
      return (root_ / options.ground_truth).string();
    }
    std::vector<std::string> found;
    for (const std::string& name : names_in(root_)) {
      const std::string extension = fs::path(name).extension().string();
      if (name.starts_with("gnd_") &&
          (extension == ".pkl" || extension == ".json")) {
        found.push_back(name);
      }
    }
    if (found.empty()) {
      throw DataError(options.path +
                      ": no file gnd_*.pkl or gnd_*.json; put it there, or "
                      "name it with 'revisited.ground_truth'");
    }
    if (found.size() > 1) {
      std::sort(found.begin(), found.end());
      throw ConfigError(options.path +
                        " holds several ground truths: " + join(found) +
                        "; name one with 'revisited.ground_truth'");
    }
    return (root_ / found[0]).string();
  }

  void add(std::string path, bool is_query) {
    Item item;
    item.path = std::move(path);
    item.label = static_cast<int64_t>(list_.items.size());
    item.split = Split::kTest;
    item.is_query = is_query;
    item.is_gallery = !is_query;
    list_.items.push_back(std::move(item));
  }

  void add_distractors(const RevisitedOptions& options) {
    if (options.distractor_images.empty()) {
      throw ConfigError(
          "'revisited.distractors' needs 'revisited.distractor_images', the "
          "folder of "
          "the images it names");
    }
    const std::string folder = (root_ / options.distractor_images).string();
    require_folder(folder, "the images of " + options.distractors);
    const std::string file = (root_ / options.distractors).string();
    const size_t before = list_.items.size();
    std::istringstream lines(read_file(file, kMaxListBytes));
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (line.empty()) continue;
      if (line.find('\0') != std::string::npos) {
        throw DataError(file + ": NUL byte: not a list of names");
      }
      add(folder + "/" + line, /*is_query=*/false);
    }
    if (list_.items.size() == before) {
      throw DataError(file + ": names no images");
    }
  }

  fs::path root_;
  int64_t published_images_ = 0;
  ImageList list_;
};

}  // namespace

void RevisitedOptions::describe(OptionSet& set) {
  set.add("path", path,
          "The folder; names of files and folders in the other options are "
          "relative to it.")
      .not_empty();
  set.add("ground_truth", ground_truth,
          "The lists, gnd_roxford5k.pkl, or JSON of the same content. Empty: "
          "the only file gnd_*.pkl or gnd_*.json of the folder.");
  set.add("images", images, "The folder of the images NAME.jpg.").not_empty();
  set.add("distractors", distractors,
          "A file of names of images, one per line (revisitop1m.txt), that the "
          "gallery also holds. Empty: none.");
  set.add("distractor_images", distractor_images, "The folder of those.");
  set.add("crop", crop, "Crop each query to its box.");
}

RevisitedDataSet::RevisitedDataSet(Options options) : FileDataSet(kTraits) {
  RevisitedReader reader(checked_with_path(options, "revisited"));
  traits_.published = reader.published();
  list_ = reader.take();
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "revisited", RevisitedDataSet);

}  // namespace kith
