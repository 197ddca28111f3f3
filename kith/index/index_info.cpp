#include "kith/index/index_info.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/json_text.h"
#include "kith/io/file_sums.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
/// What stands before the file's own checksum.
constexpr std::string_view kSumMark = R"("crc32c":")";
/// Room for some three million ranges of removed items.
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw DataError(path + ": " + why);
}

Json read_object(const std::string& path) {
  const std::string text = read_file(path, kMaxBytes);
  if (!own_sum_fits(text, kSumMark)) {
    refuse(path,
           "damaged: its checksum differs from what was written; take another "
           "copy of the index, or make it anew");
  }
  try {
    Json json = parse_json(text);
    if (json.is_object()) return json;
  } catch (const Json::exception&) {  // said below
  }
  refuse(path, "not a JSON object, or one that is too deep or has a key twice");
}

const Json& entry(const Json& json, const std::string& path, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) {
    refuse(path, std::string("no key '") + key + "'");
  }
  return *found;
}

std::string text_of(const Json& json, const std::string& path,
                    const char* key) {
  const Json& value = entry(json, path, key);
  if (!value.is_string()) {
    refuse(path, std::string("'") + key + "' must be text");
  }
  return value.get<std::string>();
}

int64_t whole_of(const Json& value, const std::string& path, const char* key) {
  const auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!value.is_number_unsigned() || value.get<uint64_t>() > most) {
    refuse(path, std::string("'") + key + "' must be a whole number from 0");
  }
  return value.get<int64_t>();
}

std::map<std::string, double> recall_of(const Json& json,
                                        const std::string& path) {
  const Json& value = entry(json, path, "recall");
  if (!value.is_object()) refuse(path, "'recall' must be an object");
  std::map<std::string, double> recall;
  for (const auto& [name, share] : value.items()) {
    if (!share.is_number()) refuse(path, "'recall' must hold numbers");
    recall[name] = share.get<double>();
  }
  return recall;
}

/// Ranges [first, last] of positions below `count`, each behind the one before.
PositionSet removed_of(const Json& json, const std::string& path,
                       int64_t count) {
  const Json& value = entry(json, path, "removed");
  if (!value.is_array()) refuse(path, "'removed' must be a list");
  PositionSet removed;
  for (const Json& range : value) {
    if (!range.is_array() || range.size() != 2) {
      refuse(path, "'removed' must hold ranges [first, last]");
    }
    const int64_t first = whole_of(range[0], path, "removed");
    const int64_t last = whole_of(range[1], path, "removed");
    if (last >= count || first > last ||
        (!removed.empty() && first <= removed.ranges().back().last)) {
      refuse(path, "'removed' must hold rising positions below the count " +
                       std::to_string(count));
    }
    removed.append({first, last});
  }
  return removed;
}

/// Where there is none there is nothing of it.
std::optional<IndexThreshold> index_threshold_of(const Json& json,
                                                 const std::string& path) {
  const auto found = json.find("threshold");
  if (found == json.end()) return {};
  if (!found->is_object()) refuse(path, "'threshold' must be an object");
  const Json& value = entry(*found, path, "value");
  const double number = value.is_number() ? value.get<double>() : 2;
  if (!(number >= -1 && number <= 1)) {
    refuse(path, "'threshold' must be a similarity from -1 to 1");
  }
  return IndexThreshold{number, text_of(*found, path, "wanted")};
}

/// Empty where there is none.
std::string pictures_root_of(const Json& json, const std::string& path) {
  if (!json.contains("pictures_root")) return "";
  text_of(json, path, "pictures_root");
  if (json.contains("pictures_root_bytes")) {
    text_of(json, path, "pictures_root_bytes");
  }
  std::string root = get_path(json, "pictures_root");
  if (!root.starts_with('/')) {
    refuse(path, "'pictures_root' must be a path that begins with /");
  }
  return root;
}

Json ranges_of(const PositionSet& positions) {
  Json ranges = Json::array();
  for (const auto& [first, last] : positions.ranges()) {
    ranges.push_back({first, last});
  }
  return ranges;
}

/// {"bytes": 12345, "crc32c": "1234abcd"}
FileSums sums_of(const Json& files, const std::string& path, const char* key) {
  const Json& value = entry(files, path, key);
  if (!value.is_object()) {
    refuse(path, std::string("'") + key + "' must be an object");
  }
  const int64_t bytes = whole_of(entry(value, path, "bytes"), path, "bytes");
  FileSums sums;
  if (!parse_sums(text_of(value, path, "crc32c"), static_cast<uint64_t>(bytes),
                  sums)) {
    refuse(path, std::string("the checksums of '") + key + "' are none");
  }
  return sums;
}

/// Where an older kith wrote the file there is nothing of it.
IndexFiles files_of(const Json& json, const std::string& path) {
  const auto found = json.find("files");
  if (found == json.end()) return {};
  if (!found->is_object()) refuse(path, "'files' must be an object");
  return {text_of(*found, path, "generation"), sums_of(*found, path, "vectors"),
          sums_of(*found, path, "items")};
}

Json json_of(const IndexFiles& files) {
  const auto sums = [](const FileSums& each) {
    return Json{{"bytes", each.bytes}, {"crc32c", each.hex()}};
  };
  return {{"generation", files.generation},
          {"vectors", sums(files.vectors)},
          {"items", sums(files.items)}};
}

}  // namespace

IndexRecord read_index_record(const std::string& path) {
  const Json json = read_object(path);
  const int64_t version =
      whole_of(entry(json, path, "version"), path, "version");
  if (version != kVersion) {
    refuse(path, "of version " + std::to_string(version) +
                     ", this kith reads version " + std::to_string(kVersion));
  }
  IndexRecord record;
  record.count = whole_of(entry(json, path, "count"), path, "count");
  record.dim = whole_of(entry(json, path, "dim"), path, "dim");
  record.info.kind = text_of(json, path, "kind");
  record.info.model = text_of(json, path, "model");
  if (json.contains("model_bytes")) {
    text_of(json, path, "model_bytes");
    record.info.model = get_path(json, "model");
  }
  if (json.contains("checkpoint")) {
    record.info.checkpoint = text_of(json, path, "checkpoint");
    record.info.checkpoint_text = text_of(json, path, "checkpoint_text");
  }
  record.info.model_hash = text_of(json, path, "model_hash");
  record.info.recall = recall_of(json, path);
  record.info.removed = removed_of(json, path, record.count);
  record.info.threshold = index_threshold_of(json, path);
  record.info.pictures_root = pictures_root_of(json, path);
  record.files = files_of(json, path);
  return record;
}

void write_index_record(const std::string& path, const IndexRecord& record) {
  Json json = {{"crc32c", kNoSum},
               {"version", kVersion},
               {"kind", record.info.kind},
               {"count", record.count},
               {"dim", record.dim},
               {"model", ""},
               {"model_hash", record.info.model_hash},
               {"recall", record.info.recall},
               {"removed", ranges_of(record.info.removed)}};
  set_path(json, "model", record.info.model);
  if (!record.info.checkpoint.empty()) {
    json["checkpoint"] = record.info.checkpoint;
    json["checkpoint_text"] = record.info.checkpoint_text;
  }
  if (const auto& threshold = record.info.threshold) {
    json["threshold"] = {{"value", threshold->value},
                         {"wanted", threshold->wanted}};
  }
  if (!record.info.pictures_root.empty()) {
    set_path(json, "pictures_root", record.info.pictures_root);
  }
  if (!record.files.generation.empty()) json["files"] = json_of(record.files);
  std::string text = json_text(json, -1) + "\n";
  put_own_sum(text, kSumMark);
  if (text.size() > kMaxBytes) {
    throw RunError(path +
                   ": too many items were removed here and there to keep "
                   "account of; make the index anew, which drops them");
  }
  write_file_atomically(path, text);
}

}  // namespace kith
