#include "kith/core/config_json.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace kith {

using Json = nlohmann::ordered_json;

namespace {

/// The number or truth value that a text reads as; null if it is neither.
Json value_of(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_number() || json.is_boolean() ? json : Json();
}

}  // namespace

Json config_json(const ConfigNode& node) {
  Json json;
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return json;
    case ConfigNode::Kind::kList:
      json = Json::array();
      for (const ConfigNode& item : node.items) {
        json.push_back(config_json(item));
      }
      return json;
    case ConfigNode::Kind::kMap:
      json = Json::object();
      for (const auto& [key, item] : node.entries) {
        json[key] = config_json(item);
      }
      return json;
    case ConfigNode::Kind::kScalar:
      break;
  }
  if (!node.quoted) json = value_of(node.scalar);
  return json.is_null() ? Json(node.scalar) : json;
}

ConfigNode config_of(const Json& json, const std::string& where) {
  ConfigNode node;
  node.where = where;
  if (json.is_object()) {
    node.kind = ConfigNode::Kind::kMap;
    for (const auto& [key, value] : json.items()) {
      node.set(key, config_of(value, where));
    }
  } else if (json.is_array()) {
    node.kind = ConfigNode::Kind::kList;
    for (const Json& item : json) node.items.push_back(config_of(item, where));
  } else if (!json.is_null()) {
    node.kind = ConfigNode::Kind::kScalar;
    node.scalar = json.is_string() ? json.get<std::string>() : json.dump();
    node.quoted = json.is_string() && !value_of(node.scalar).is_null();
  }
  return node;
}

}  // namespace kith
