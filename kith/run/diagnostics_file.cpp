#include "kith/run/diagnostics_file.h"

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/run/detail/stored_json.h"

namespace kith {
namespace {

constexpr uint64_t kMaxDiagnosticsBytes = uint64_t{1} << 28;
/// More than are ever shown. A pair takes 50 times the bytes of an empty one in
/// a file.
constexpr size_t kMostPairs = 10000;

StoredDuplicates duplicates_of(const OrderedJson& json) {
  StoredDuplicates found;
  found.rule = text_of(field(json, "rule"));
  found.count = count_of(json.at("count"));
  found.test_images = count_of(field(json, "test_images"));
  found.train_images = count_of(field(json, "train_images"));
  for (const OrderedJson& pair : json.at("pairs")) {
    if (found.pairs.size() == kMostPairs) break;
    found.pairs.push_back(
        {text_of(field(pair, "train")), text_of(field(pair, "train_class")),
         text_of(field(pair, "test")), text_of(field(pair, "test_class")),
         count_of(field(pair, "distance"))});
  }
  return found;
}

}  // namespace

std::optional<StoredDuplicates> read_near_duplicates(const std::string& path) {
  try {
    const OrderedJson json = parse_json(read_file(path, kMaxDiagnosticsBytes));
    if (!json.is_object()) {
      throw OrderedJson::type_error::create(0, "no object", &json);
    }
    if (!json.contains("near_duplicates")) return {};
    return duplicates_of(json.at("near_duplicates"));
  } catch (const OrderedJson::exception&) {
    throw DataError(path + ": not the diagnostics.json that kith eval writes");
  }
}

}  // namespace kith
