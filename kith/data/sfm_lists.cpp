#include "kith/data/sfm_lists.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/quote.h"
#include "kith/data/image_files.h"
#include "kith/io/pickle_numpy.h"

namespace kith {
namespace {

using NodeKind = PickleNode::Kind;

constexpr const char* kSfmQueries = "retrieval-SfM-120k-val-eccv2020.pkl";
constexpr uint64_t kMaxSfmQueryBytes = uint64_t{256} << 20;

std::vector<int64_t> array_numbers(const ArrayView& view,
                                   const std::string& where) {
  const auto copy = [&]<typename T>(T) {
    std::vector<T> values(static_cast<size_t>(view.byte_size()) / sizeof(T));
    if (!values.empty()) {
      std::memcpy(values.data(), view.data, values.size() * sizeof(T));
    }
    return std::vector<int64_t>(values.begin(), values.end());
  };
  if (view.byte_size() == 0) return {};  // NumPy's empty list is of float64
  if (view.dtype == DType::kI32) return copy(int32_t{});
  if (view.dtype == DType::kI64) return copy(int64_t{});
  throw DataError(where + " holds something other than whole numbers");
}

std::vector<int64_t> checked_numbers(std::vector<int64_t> numbers,
                                     const std::string& where) {
  constexpr int64_t kMax = int64_t{1} << 40;
  for (const int64_t number : numbers) {
    if (number >= 0 && number <= kMax) continue;
    throw DataError(where + " holds " + std::to_string(number) +
                    ", expected 0 or more");
  }
  return numbers;
}

bool is_list(const PickleNode& node) {
  return node.kind == NodeKind::kList || node.kind == NodeKind::kTuple;
}

/// Positions of images in the lists of a query, without the query, rising.
std::vector<int64_t> answers_of(const Pickle& pickle, const PickleNode& node,
                                const std::string& where, int64_t images,
                                int64_t first, int64_t query) {
  std::vector<int64_t> answers;
  for (const int64_t image : sfm_numbers(pickle, node, where)) {
    if (image >= images) {
      throw DataError(where + " holds " + std::to_string(image) +
                      ", and there are " + std::to_string(images) + " images");
    }
    if (first + image != query) answers.push_back(first + image);
  }
  std::sort(answers.begin(), answers.end());
  answers.erase(std::unique(answers.begin(), answers.end()), answers.end());
  return answers;
}

}  // namespace

const PickleNode& sfm_entry(const Pickle& pickle, const PickleNode& dict,
                            const std::string& where, const char* key,
                            const char* holds) {
  const PickleNode* found = pickle.find(dict, key);
  if (found != nullptr) return *found;
  throw DataError(where + " has no " + quote(key) + "; expected " + holds);
}

std::vector<int64_t> sfm_numbers(const Pickle& pickle, const PickleNode& node,
                                 const std::string& where) {
  if (is_numpy(pickle, node)) {
    return checked_numbers(
        array_numbers(numpy_view(pickle, node, where), where), where);
  }
  if (!is_list(node)) throw DataError(where + " is not a list");
  std::vector<int64_t> numbers;
  numbers.reserve(node.items.size());
  for (const uint32_t number : node.items) {
    const PickleNode& item = pickle.at(number);
    if (item.kind == NodeKind::kInt) {
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
  return checked_numbers(std::move(numbers), where);
}

std::string sfm_image_path(const std::string& root, const PickleNode& node,
                           const std::string& where) {
  constexpr size_t kMaxSize = 255;
  const std::string& cid = node.text;
  if (node.kind != NodeKind::kString || cid.size() < 6 ||
      cid.size() > kMaxSize || cid.find('/') != std::string::npos ||
      cid.find('\0') != std::string::npos ||
      cid.find("..") != std::string::npos) {
    throw DataError(where + ": " + quote(cid) +
                    " is not the name of an image, six letters or more");
  }
  const size_t end = cid.size();
  return root + "/ims/" + cid.substr(end - 2) + "/" + cid.substr(end - 4, 2) +
         "/" + cid.substr(end - 6, 2) + "/" + cid;
}

void add_sfm_validation(ImageList& list, const std::string& root) {
  constexpr const char* kHolds = "a dict of cids, qidx and gnd";
  require_folder(root + "/ims", "the pictures of retrieval-SfM-120k");
  const std::string file = root + "/" + kSfmQueries;
  const std::string bytes = read_file(file, kMaxSfmQueryBytes);
  ByteStream in(bytes, file);
  const Pickle pickle = read_pickle(in);
  const auto entry = [&](const char* key) -> const PickleNode& {
    return sfm_entry(pickle, pickle.root(), file + ":", key, kHolds);
  };
  const PickleNode& cids = entry("cids");
  const PickleNode& truths = entry("gnd");
  if (!is_list(cids) || cids.items.empty() || !is_list(truths)) {
    throw DataError(file + ": cids or gnd is no list of images or queries");
  }
  const std::vector<int64_t> queries =
      sfm_numbers(pickle, entry("qidx"), file + ": qidx");
  if (queries.empty() || queries.size() != truths.items.size()) {
    throw DataError(file + " has " + std::to_string(queries.size()) +
                    " queries in qidx and " +
                    std::to_string(truths.items.size()) +
                    " in gnd; expected the same number of both, at least one");
  }
  int64_t label = 0;
  for (const Item& item : list.items) label = std::max(label, item.label + 1);
  const int64_t first = std::ssize(list.items);
  const int64_t images = std::ssize(cids.items);
  std::unordered_set<std::string> seen;
  for (int64_t i = 0; i < images; ++i) {
    const std::string where = file + ": cids[" + std::to_string(i) + "]";
    Item item;
    item.path = sfm_image_path(
        root, pickle.at(cids.items[static_cast<size_t>(i)]), where);
    if (!seen.insert(item.path).second) {
      throw DataError(where + ": the image is there twice");
    }
    item.label = label + i;
    item.split = Split::kValidation;
    item.is_query = false;
    list.items.push_back(std::move(item));
  }
  for (size_t q = 0; q < queries.size(); ++q) {
    const std::string where = file + ": gnd[" + std::to_string(q) + "]";
    if (queries[q] >= images) {
      throw DataError(file + ": qidx holds " + std::to_string(queries[q]) +
                      ", and there are " + std::to_string(images) + " images");
    }
    const PickleNode& truth = pickle.at(truths.items[q]);
    QueryTruth answers;
    answers.query = first + queries[q];
    const auto read = [&](const char* key) {
      return answers_of(pickle,
                        sfm_entry(pickle, truth, where, key, "ok, junk"),
                        where + " " + key, images, first, answers.query);
    };
    answers.easy = read("ok");
    answers.junk = read("junk");
    Item& item = list.items[static_cast<size_t>(answers.query)];
    if (item.is_query) throw DataError(where + ": the query is there twice");
    item.is_query = true;
    list.truths.push_back(std::move(answers));
  }
  std::sort(list.truths.begin(), list.truths.end(),
            [](const QueryTruth& a, const QueryTruth& b) {
              return a.query < b.query;
            });
}

}  // namespace kith
