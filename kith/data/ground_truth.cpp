#include "kith/data/ground_truth.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/quote.h"
#include "kith/io/pickle.h"
#include "kith/io/pickle_numpy.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;
using Kind = PickleNode::Kind;

constexpr uint64_t kMaxBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxCopied = uint64_t{64} << 20;
constexpr int kMaxDepth = 16;
constexpr const char* kEntries[] = {"imlist", "qimlist", "gnd", "bbx",
                                    "easy",   "hard",    "junk"};

/// What lies in a pickle under the keys of a ground truth, as JSON; null where
/// it is something that JSON has not. The same object can be in many places, so
/// what is copied is counted.
class PickleToJson {
 public:
  PickleToJson(const Pickle& pickle, const std::string& path)
      : pickle_(pickle), path_(path) {}

  Json convert() { return convert(pickle_.root(), path_ + ": ", 0); }

 private:
  void charge(size_t bytes) {
    copied_ += bytes;
    if (copied_ > kMaxCopied) {
      throw DataError(path_ + ": too large for a ground truth");
    }
  }

  Json convert(const PickleNode& node, const std::string& where, int depth) {
    charge(sizeof(Json));
    switch (node.kind) {
      case Kind::kInt:
        return node.integer;
      case Kind::kFloat:
        return node.real;
      case Kind::kString:
      case Kind::kBytes:
        charge(node.text.size());
        return node.text;
      case Kind::kTuple:
      case Kind::kList:
        if (depth < kMaxDepth) return list(node, where, depth);
        break;
      case Kind::kDict:
        if (depth < kMaxDepth) return dict(node, where, depth);
        break;
      case Kind::kObject:
        if (is_numpy(pickle_, node)) return numpy(node, where);
        break;
      default:
        break;
    }
    return nullptr;  // null
  }

  Json list(const PickleNode& node, const std::string& where, int depth) {
    Json values = Json::array();
    for (size_t i = 0; i < node.items.size(); ++i) {
      const PickleNode& item = pickle_.at(node.items[i]);
      const bool is_entry = item.kind == Kind::kDict;
      values.push_back(convert(
          item, is_entry ? where + "[" + std::to_string(i) + "]" : where,
          depth + 1));
    }
    return values;
  }

  Json dict(const PickleNode& node, const std::string& where, int depth) {
    charge(node.items.size());
    Json values = Json::object();
    for (const char* key : kEntries) {
      const PickleNode* value = pickle_.find(node, key);
      if (value == nullptr) continue;
      values[key] =
          convert(*value, where + (depth == 0 ? "" : ".") + key, depth + 1);
    }
    return values;
  }

  Json numpy(const PickleNode& node, const std::string& where) {
    const ArrayView view = numpy_view(pickle_, node, where);
    if (view.shape.size() > 1) {
      throw DataError(where + ": a NumPy array of " +
                      std::to_string(view.shape.size()) +
                      " axes; expected one");
    }
    switch (view.dtype) {
      case DType::kI32:
        return numbers<int32_t>(view);
      case DType::kI64:
        return numbers<int64_t>(view);
      case DType::kF32:
        return numbers<float>(view);
      default:
        return numbers<double>(view);
    }
  }

  template <typename T>
  Json numbers(const ArrayView& view) {
    const auto bytes = static_cast<size_t>(view.byte_size());
    charge(bytes / sizeof(T) * sizeof(Json));
    std::vector<T> values(bytes / sizeof(T));
    if (bytes > 0) std::memcpy(values.data(), view.data, bytes);
    return view.shape.empty() ? Json(values[0]) : Json(values);
  }

  const Pickle& pickle_;
  const std::string& path_;
  uint64_t copied_ = 0;
};

Json parse_pickle(std::string_view bytes, const std::string& name) {
  ByteStream in(bytes, name);
  return PickleToJson(read_pickle(in), name).convert();
}

Json parse_text(std::string_view text, const std::string& name) {
  try {
    return parse_json(text);
  } catch (const Json::exception& error) {
    const std::string why = error.what();  // "[kind of error] what"
    throw DataError(
        name + ": cannot be read as JSON: " + why.substr(why.find(']') + 2));
  }
}

/// Makes a ground truth of JSON and checks everything in it.
class TruthReader {
 public:
  TruthReader(const Json& json, const std::string& path)
      : json_(json), path_(path) {
    if (!json.is_object()) {
      throw DataError(path + ": expected a dict with imlist, qimlist and gnd");
    }
  }

  GroundTruth read() {
    truth_.images = names("imlist");
    truth_.queries = names("qimlist");
    const std::string where = path_ + ": ";
    const Json& gnd = list(json_, "gnd", where);
    if (gnd.size() != truth_.queries.size()) {
      throw DataError(path_ + ": gnd has " + std::to_string(gnd.size()) +
                      " entries for " + std::to_string(truth_.queries.size()) +
                      " names of qimlist; expected one for each");
    }
    for (size_t i = 0; i < gnd.size(); ++i) add_query(gnd[i], i);
    return std::move(truth_);
  }

 private:
  static const Json& list(const Json& dict, const char* key,
                          const std::string& where) {
    const auto found = dict.find(key);
    if (found == dict.end()) throw DataError(where + key + " is missing");
    if (!found->is_array()) throw DataError(where + key + " is not a list");
    return *found;
  }

  std::vector<std::string> names(const char* key) const {
    const std::string where = path_ + ": ";
    std::vector<std::string> names;
    for (const Json& name : list(json_, key, where)) {
      const std::string place =
          where + key + "[" + std::to_string(names.size()) + "]";
      if (!name.is_string()) throw DataError(place + " is not a string");
      names.push_back(name.get<std::string>());
      if (names.back().empty() ||
          names.back().find('\0') != std::string::npos) {
        throw DataError(place + ": " + quote(names.back()) +
                        " is not the name of an image");
      }
    }
    if (names.empty()) throw DataError(where + key + " is empty");
    return names;
  }

  void add_query(const Json& entry, size_t number) {
    const std::string where = path_ + ": gnd[" + std::to_string(number) + "]";
    if (!entry.is_object()) {
      throw DataError(where +
                      " is not a dict with bbx, easy, hard and "
                      "junk");
    }
    QueryTruth truth;
    truth.query = static_cast<int64_t>(number);
    std::set<int64_t> seen;
    truth.easy = positions(entry, "easy", where + ".", seen);
    truth.hard = positions(entry, "hard", where + ".", seen);
    truth.junk = positions(entry, "junk", where + ".", seen);
    truth_.truths.push_back(std::move(truth));
    truth_.boxes.push_back(box(entry, where + "."));
  }

  std::vector<int64_t> positions(const Json& entry, const char* key,
                                 const std::string& where,
                                 std::set<int64_t>& seen) const {
    const auto count = static_cast<int64_t>(truth_.images.size());
    std::vector<int64_t> positions;
    for (const Json& value : list(entry, key, where)) {
      const int64_t position =
          value.is_number_integer() ? value.get<int64_t>() : -1;
      if (position < 0 || position >= count) {
        throw DataError(where + key + " holds " + quote(shown(value)) +
                        "; expected positions in imlist, 0 to " +
                        std::to_string(count - 1));
      }
      if (!seen.insert(position).second) {
        throw DataError(where + key + ": image " + std::to_string(position) +
                        " is in easy, hard and junk more than once");
      }
      positions.push_back(position);
    }
    std::sort(positions.begin(), positions.end());
    return positions;
  }

  /// Text may not be UTF-8 and then cannot be dumped as it is.
  static std::string shown(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  static std::optional<Box> box(const Json& entry, const std::string& where) {
    if (!entry.contains("bbx")) return std::nullopt;
    const Json& edges = list(entry, "bbx", where);
    std::vector<int64_t> pixels;
    for (const Json& edge : edges) {
      const double value = edge.is_number() ? edge.get<double>() : NAN;
      if (!(std::abs(value) <= 1e6)) break;
      pixels.push_back(std::llrint(value));
    }
    if (pixels.size() != 4 || edges.size() != 4) {
      throw DataError(where +
                      "bbx: expected four numbers of pixels: x1, y1, "
                      "x2, y2");
    }
    const Box box = {pixels[0], pixels[1], pixels[2], pixels[3]};
    if (box.empty()) throw DataError(where + "bbx: the box is empty");
    return box;
  }

  const Json& json_;
  const std::string& path_;
  GroundTruth truth_;
};

}  // namespace

GroundTruth read_ground_truth(const std::string& path) {
  return parse_ground_truth(read_file(path, kMaxBytes), path);
}

GroundTruth parse_ground_truth(std::string_view bytes,
                               const std::string& name) {
  if (name.ends_with(".json"))
    return TruthReader(parse_text(bytes, name), name).read();
  if (name.ends_with(".pkl"))
    return TruthReader(parse_pickle(bytes, name), name).read();
  throw DataError(name +
                  ": a ground truth is a file .pkl (as published) or .json");
}

}  // namespace kith
