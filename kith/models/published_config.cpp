#include "kith/models/published_config.h"

#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/options.h"

namespace kith {
namespace {

std::map<std::string, PublishedReader>& published_readers() {
  static std::map<std::string, PublishedReader> all;
  return all;
}

std::map<std::string, ConfigNode>& timm_differences() {
  static std::map<std::string, ConfigNode> all;
  return all;
}

}  // namespace

void PublishedConfig::refuse(const std::string& key, const char* type) const {
  throw DataError(path_ + ": '" + key + "' must be " + type);
}

const nlohmann::ordered_json* PublishedConfig::find(
    const std::string& key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

int64_t PublishedConfig::integer(const std::string& key, int64_t other) const {
  const auto* value = find(key);
  if (value == nullptr) return other;
  if (!value->is_number_integer()) refuse(key, "a whole number");
  return value->get<int64_t>();
}

double PublishedConfig::number(const std::string& key, double other) const {
  const auto* value = find(key);
  if (value == nullptr) return other;
  if (!value->is_number()) refuse(key, "a number");
  return value->get<double>();
}

bool PublishedConfig::truth(const std::string& key, bool other) const {
  const auto* value = find(key);
  if (value == nullptr) return other;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

std::string PublishedConfig::text(const std::string& key,
                                  const std::string& other) const {
  const auto* value = find(key);
  if (value == nullptr) return other;
  if (!value->is_string()) refuse(key, "a text");
  return value->get<std::string>();
}

std::vector<int64_t> PublishedConfig::integers(
    const std::string& key, const std::vector<int64_t>& other) const {
  const auto* value = find(key);
  if (value == nullptr) return other;
  std::vector<int64_t> all;
  if (!value->is_array()) refuse(key, "a list of whole numbers");
  for (const auto& item : *value) {
    if (!item.is_number_integer()) refuse(key, "a list of whole numbers");
    all.push_back(item.get<int64_t>());
  }
  return all;
}

void PublishedConfig::require_text(const std::string& key,
                                   const std::string& value) const {
  const std::string found = text(key, value);
  if (found == value) return;
  throw DataError(path_ + ": '" + key + "' is '" + found +
                  "', but kith has this network with '" + value + "' alone");
}

void PublishedConfig::require_truth(const std::string& key, bool value) const {
  if (truth(key, value) == value) return;
  const auto word = [](bool b) { return b ? "true" : "false"; };
  throw DataError(path_ + ": '" + key + "' is " + word(!value) +
                  ", but kith has this network with " + word(value) + " alone");
}

std::vector<double> PublishedConfig::numbers(
    const std::string& key, const std::vector<double>& other) const {
  const auto* value = find(key);
  if (value == nullptr) return other;
  std::vector<double> all;
  if (!value->is_array()) refuse(key, "a list of numbers");
  for (const auto& item : *value) {
    if (!item.is_number()) refuse(key, "a list of numbers");
    all.push_back(item.get<double>());
  }
  return all;
}

nlohmann::ordered_json read_published_json(const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  const std::string text = read_file(path, kMostBytes);
  nlohmann::ordered_json json;
  try {
    json = parse_json(text);
  } catch (const nlohmann::ordered_json::exception& error) {
    throw DataError(path + ": not JSON: " + error.what());
  }
  if (!json.is_object()) throw DataError(path + ": not a JSON object");
  return json;
}

bool add_published_reader(const std::string& model_type,
                          PublishedReader reader) {
  return published_readers().emplace(model_type, reader).second;
}

bool add_timm_difference(const std::string& backbone, ConfigNode options) {
  return timm_differences().emplace(backbone, std::move(options)).second;
}

ConfigNode timm_difference(const std::string& backbone) {
  const auto found = timm_differences().find(backbone);
  return found == timm_differences().end() ? ConfigNode() : found->second;
}

ConfigNode read_published(const std::string& model_type,
                          const PublishedConfig& config) {
  const auto found = published_readers().find(model_type);
  if (found != published_readers().end()) return found->second(config);
  std::vector<std::string> known;
  for (const auto& [name, reader] : published_readers()) known.push_back(name);
  throw DataError(config.path() + ": 'model_type' is '" + model_type +
                  "', a network that kith does not have; it has " +
                  join(known));
}

}  // namespace kith
