#include "kith/index/index_info.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
/// Room for some three million ranges of removed items.
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw DataError(path + ": " + why);
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

Json ranges_of(const PositionSet& positions) {
  Json ranges = Json::array();
  for (const auto& [first, last] : positions.ranges()) {
    ranges.push_back({first, last});
  }
  return ranges;
}

}  // namespace

IndexRecord read_index_record(const std::string& path) {
  const Json json = Json::parse(read_file(path, kMaxBytes), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) refuse(path, "not a JSON object");
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
  record.info.model_hash = text_of(json, path, "model_hash");
  record.info.recall = recall_of(json, path);
  record.info.removed = removed_of(json, path, record.count);
  return record;
}

void write_index_record(const std::string& path, const IndexRecord& record) {
  const Json json = {{"version", kVersion},
                     {"kind", record.info.kind},
                     {"count", record.count},
                     {"dim", record.dim},
                     {"model", record.info.model},
                     {"model_hash", record.info.model_hash},
                     {"recall", record.info.recall},
                     {"removed", ranges_of(record.info.removed)}};
  // A path need not be UTF-8.
  const auto replace = Json::error_handler_t::replace;
  const std::string text = json.dump(-1, ' ', false, replace) + "\n";
  if (text.size() > kMaxBytes) {
    throw RunError(path +
                   ": too many items were removed here and there to keep "
                   "account of; make the index anew, which drops them");
  }
  write_file_atomically(path, text);
}

}  // namespace kith
