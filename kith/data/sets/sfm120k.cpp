#include <algorithm>
#include <cstring>
#include <filesystem>
#include <unordered_set>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/quote.h"
#include "kith/data/image_files.h"
#include "kith/data/published_sets.h"
#include "kith/io/pickle.h"
#include "kith/io/pickle_numpy.h"

namespace kith {
namespace {

using Kind = PickleNode::Kind;

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

  /// An entry of a dict, which must be there.
  const PickleNode& entry(const Pickle& pickle, const PickleNode& dict,
                          const std::string& where, const char* key) const {
    const PickleNode* found = pickle.find(dict, key);
    if (found == nullptr) {
      throw DataError(where + " has no " + quote(key) +
                      "; expected a dict of train and val, with cids and "
                      "cluster in each");
    }
    return *found;
  }

  void read_split(const Pickle& pickle, const char* name, Split split,
                  Seen& seen) {
    const std::string where = file_ + ": " + quote(name);
    const PickleNode& part = entry(pickle, pickle.root(), file_ + ":", name);
    const PickleNode& cids = entry(pickle, part, where, "cids");
    const std::vector<int64_t> clusters = read_numbers(
        pickle, entry(pickle, part, where, "cluster"), where + " cluster");
    if (cids.kind != Kind::kList && cids.kind != Kind::kTuple) {
      throw DataError(where + " cids is not a list");
    }
    if (cids.items.empty() || cids.items.size() != clusters.size()) {
      throw DataError(where + " has " + std::to_string(cids.items.size()) +
                      " cids and " + std::to_string(clusters.size()) +
                      " numbers of clusters; expected the same number of both, "
                      "at least one");
    }
    for (size_t i = 0; i < clusters.size(); ++i) {
      Item item;
      item.path = image_path(pickle.at(cids.items[i]),
                             where + " cids[" + std::to_string(i) + "]", seen);
      item.label = clusters[i];
      item.split = split;
      list_.items.push_back(std::move(item));
    }
  }

  /// "ims/ef/cd/ab/...abcdef": folders of the last six letters, backwards.
  std::string image_path(const PickleNode& node, const std::string& where,
                         Seen& seen) const {
    constexpr size_t kMaxSize = 255;
    const std::string& cid = node.text;
    if (node.kind != Kind::kString || cid.size() < 6 || cid.size() > kMaxSize ||
        cid.find('/') != std::string::npos ||
        cid.find('\0') != std::string::npos ||
        cid.find("..") != std::string::npos) {
      throw DataError(where + ": " + quote(cid) +
                      " is not the name of an image, six letters or more");
    }
    // Checked at once: one name a million times is a small pickle.
    if (!seen.insert(cid).second) {
      throw DataError(where + ": " + quote(cid) + " is there twice");
    }
    const size_t end = cid.size();
    return root_ + "/ims/" + cid.substr(end - 2) + "/" +
           cid.substr(end - 4, 2) + "/" + cid.substr(end - 6, 2) + "/" + cid;
  }

  /// A list of whole numbers, Python's or NumPy's, or an array of them.
  static std::vector<int64_t> read_numbers(const Pickle& pickle,
                                           const PickleNode& node,
                                           const std::string& where) {
    if (is_numpy(pickle, node)) {
      return checked(array_numbers(numpy_view(pickle, node, where), where),
                     where);
    }
    if (node.kind != Kind::kList && node.kind != Kind::kTuple) {
      throw DataError(where + " is not a list");
    }
    std::vector<int64_t> numbers;
    numbers.reserve(node.items.size());
    for (const uint32_t number : node.items) {
      const PickleNode& item = pickle.at(number);
      if (item.kind == Kind::kInt) {
        numbers.push_back(item.integer);
      } else if (is_numpy(pickle, item)) {
        const ArrayView value = numpy_view(pickle, item, where);
        if (!value.shape.empty()) break;  // an array, no number
        numbers.push_back(array_numbers(value, where).at(0));
      }
    }
    if (numbers.size() != node.items.size()) {
      throw DataError(where + " holds something other than whole numbers");
    }
    return checked(std::move(numbers), where);
  }

  static std::vector<int64_t> array_numbers(const ArrayView& view,
                                            const std::string& where) {
    const auto copy = [&]<typename T>(T) {
      std::vector<T> values(static_cast<size_t>(view.byte_size()) / sizeof(T));
      if (!values.empty()) {
        std::memcpy(values.data(), view.data, values.size() * sizeof(T));
      }
      return std::vector<int64_t>(values.begin(), values.end());
    };
    if (view.dtype == DType::kI32) return copy(int32_t{});
    if (view.dtype == DType::kI64) return copy(int64_t{});
    throw DataError(where + " holds something other than whole numbers");
  }

  static std::vector<int64_t> checked(std::vector<int64_t> clusters,
                                      const std::string& where) {
    constexpr int64_t kMax = int64_t{1} << 40;
    for (const int64_t cluster : clusters) {
      if (cluster >= 0 && cluster <= kMax) continue;
      throw DataError(where + " holds " + std::to_string(cluster) +
                      ", expected 0 or more");
    }
    return clusters;
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
}

Sfm120kDataSet::Sfm120kDataSet(Options options)
    : DataSet(kTraits,
              Sfm120kReader(checked_with_path(options, "sfm120k")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "sfm120k", Sfm120kDataSet);

}  // namespace kith
