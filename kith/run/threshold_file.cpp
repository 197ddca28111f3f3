#include "kith/run/threshold_file.h"

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/json_text.h"
#include "kith/run/detail/stored_json.h"

namespace kith {
namespace {

constexpr int kThresholdVersion = 1;
constexpr uint64_t kMaxThresholdBytes = uint64_t{1} << 20;

}  // namespace

void write_threshold_file(const std::string& path, const ThresholdFile& file) {
  OrderedJson json = {{"version", kThresholdVersion},
                      {"threshold", file.threshold},
                      {"wanted", file.wanted},
                      {"picked_on", file.picked_on},
                      {"model", ""},
                      {"model_hash", file.model_hash},
                      {"checkpoint", file.checkpoint},
                      {"descriptor", file.descriptor}};
  set_path(json, "model", file.model);
  write_file_atomically(path, json_text(json) + "\n");
}

ThresholdFile read_threshold_file(const std::string& path) {
  try {
    const OrderedJson json = parse_json(read_file(path, kMaxThresholdBytes));
    if (json.at("version") != kThresholdVersion) {
      throw DataError(path + ": of another version than this kith reads, " +
                      std::to_string(kThresholdVersion));
    }
    ThresholdFile file;
    file.threshold = json.at("threshold").get<double>();
    file.wanted = text_of(field(json, "wanted"));
    file.picked_on = text_of(field(json, "picked_on"));
    if (json.contains("model")) file.model = get_path(json, "model");
    file.model_hash = text_of(field(json, "model_hash"));
    file.checkpoint = text_of(field(json, "checkpoint"));
    file.descriptor = text_of(field(json, "descriptor"));
    if (file.threshold >= -1 && file.threshold <= 1) return file;
  } catch (const OrderedJson::exception&) {  // said below
  }
  throw DataError(path + ": not the threshold.json that kith eval writes");
}

}  // namespace kith
