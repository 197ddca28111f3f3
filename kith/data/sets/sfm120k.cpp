#include <algorithm>
#include <unordered_set>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/quote.h"
#include "kith/data/image_files.h"
#include "kith/data/published_sets.h"
#include "kith/data/sfm_lists.h"

namespace kith {
namespace {

constexpr const char* kSfmList = "retrieval-SfM-120k.pkl";
constexpr uint64_t kMaxSfmBytes = uint64_t{256} << 20;

class Sfm120kReader {
 public:
  explicit Sfm120kReader(const Sfm120kOptions& options)
      : root_(options.path), file_(options.path + "/" + kSfmList) {
    require_folder(root_, "retrieval-SfM-120k.pkl and ims/");
    require_folder(root_ + "/ims", "the pictures of retrieval-SfM-120k");
    const std::string bytes = read_file(file_, kMaxSfmBytes);
    ByteStream in(bytes, file_);
    const Pickle pickle = read_pickle(in);
    Seen seen;
    read_split(pickle, "train", Split::kTrain, seen);
    if (options.validation == "queries") {
      add_sfm_validation(list_, root_);
      return;
    }
    int64_t first = 0;
    for (const Item& item : list_.items)
      first = std::max(first, item.label + 1);
    const size_t train = list_.items.size();
    read_split(pickle, "val", Split::kValidation, seen);
    for (size_t i = train; i < list_.items.size(); ++i) {
      list_.items[i].label += first;
    }
  }

  ImageList take() { return std::move(list_); }

 private:
  using Seen = std::unordered_set<std::string>;

  const PickleNode& entry(const Pickle& pickle, const PickleNode& dict,
                          const std::string& where, const char* key) const {
    return sfm_entry(pickle, dict, where, key,
                     "a dict of train and val, with cids and cluster in each");
  }

  void read_split(const Pickle& pickle, const char* name, Split split,
                  Seen& seen) {
    const std::string where = file_ + ": " + quote(name);
    const PickleNode& part = entry(pickle, pickle.root(), file_ + ":", name);
    const PickleNode& cids = entry(pickle, part, where, "cids");
    const std::vector<int64_t> clusters = sfm_numbers(
        pickle, entry(pickle, part, where, "cluster"), where + " cluster");
    if (cids.kind != PickleNode::Kind::kList &&
        cids.kind != PickleNode::Kind::kTuple) {
      throw DataError(where + " cids is not a list");
    }
    if (cids.items.empty() || cids.items.size() != clusters.size()) {
      throw DataError(where + " has " + std::to_string(cids.items.size()) +
                      " cids and " + std::to_string(clusters.size()) +
                      " numbers of clusters; expected the same number of both, "
                      "at least one");
    }
    const int64_t first = std::ssize(list_.items);
    for (size_t i = 0; i < clusters.size(); ++i) {
      const std::string place = where + " cids[" + std::to_string(i) + "]";
      Item item;
      item.path = sfm_image_path(root_, pickle.at(cids.items[i]), place);
      // Checked at once: one name a million times is a small pickle.
      if (!seen.insert(item.path).second) {
        throw DataError(place + ": " + quote(pickle.at(cids.items[i]).text) +
                        " is there twice");
      }
      item.label = clusters[i];
      item.split = split;
      list_.items.push_back(std::move(item));
    }
    if (split == Split::kTrain) read_pairs(pickle, part, where, first);
  }

  /// The pairs of images that see the same points, if the list has them.
  void read_pairs(const Pickle& pickle, const PickleNode& part,
                  const std::string& where, int64_t first) {
    const PickleNode* queries = pickle.find(part, "qidxs");
    const PickleNode* positives = pickle.find(part, "pidxs");
    if (queries == nullptr || positives == nullptr) return;
    const std::vector<int64_t> q =
        sfm_numbers(pickle, *queries, where + " qidxs");
    const std::vector<int64_t> p =
        sfm_numbers(pickle, *positives, where + " pidxs");
    const int64_t images = std::ssize(list_.items) - first;
    if (q.size() != p.size()) {
      throw DataError(where + " has " + std::to_string(q.size()) +
                      " qidxs and " + std::to_string(p.size()) +
                      " pidxs; expected the same number of both");
    }
    for (size_t i = 0; i < q.size(); ++i) {
      if (std::max(q[i], p[i]) >= images) {
        throw DataError(where + " qidxs or pidxs[" + std::to_string(i) +
                        "] holds " + std::to_string(std::max(q[i], p[i])) +
                        ", and there are " + std::to_string(images) +
                        " images");
      }
      if (q[i] != p[i]) list_.pairs.push_back({first + q[i], first + p[i]});
    }
  }

  std::string root_;
  std::string file_;
  ImageList list_;
};

}  // namespace

void Sfm120kOptions::describe(OptionSet& set) {
  set.add("path", path,
          "The folder with retrieval-SfM-120k.pkl and the pictures in ims/.")
      .not_empty();
  set.add("validation", validation,
          "The validation split: clusters, `val` of the list; or queries, with "
          "the lists of right answers in retrieval-SfM-120k-val-eccv2020.pkl.")
      .choices({"clusters", "queries"});
}

Sfm120kDataSet::Sfm120kDataSet(Options options)
    : FileDataSet(kTraits,
                  Sfm120kReader(checked_with_path(options, "sfm120k")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "sfm120k", Sfm120kDataSet);

}  // namespace kith
