#include "kith/serve/openapi.h"

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "kith/core/json.h"
#include "kith/serve/route_table.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

Json reference(const std::string& kind, std::string_view name) {
  return {{"$ref", "#/components/" + kind + "/" + std::string(name)}};
}

/// The forms of answers, by the names that routes give them.
Json answer_schemas() {
  return parse_json(R"({
"Error": {"type": "object", "required": ["error", "remedy"],
  "additionalProperties": false, "properties": {
    "error": {"type": "string", "description": "What is wrong"},
    "remedy": {"type": "string", "description": "What helps"}}},
"Health": {"type": "object", "required": ["status", "token_required"],
  "additionalProperties": false, "properties": {
    "status": {"const": "ok"}, "token_required": {"type": "boolean"}}},
"Ready": {"type": "object", "required": ["status"],
  "additionalProperties": false, "properties": {"status": {"const": "ready"}}},
"OpenApi": {"type": "object", "required": ["openapi", "info", "paths"]},
"Indexes": {"type": "object", "required": ["indexes"],
  "additionalProperties": false, "properties": {"indexes": {"type": "array",
    "minItems": 1, "items": {"type": "object",
      "required": ["name", "items", "address"], "additionalProperties": false,
      "properties": {"name": {"type": "string"},
        "items": {"type": "integer", "minimum": 0},
        "address": {"type": "string", "description":
          "What stands before /info, /search, ... of this index"}}}}}},
"Info": {"type": "object", "required": ["name", "model", "index", "kind",
    "items", "dim", "classes", "threshold", "token_required", "changes", "formats",
    "max_body_bytes", "max_pixels", "max_neighbours", "rerank"],
  "additionalProperties": false, "properties": {
    "name": {"type": "string"}, "model": {"type": "string"},
    "index": {"type": "string"}, "kind": {"type": "string"},
    "items": {"type": "integer", "minimum": 0},
    "dim": {"type": "integer", "minimum": 1},
    "classes": {"type": "integer", "minimum": 0},
    "threshold": {"type": ["number", "null"], "description":
      "The least similarity that is accepted; null: everything is"},
    "token_required": {"type": "boolean"},
    "changes": {"type": "boolean", "description":
      "Whether items may be added and removed"},
    "formats": {"type": "array", "items": {"type": "string"},
      "description": "Of pictures that may be sent"},
    "max_body_bytes": {"type": "integer"}, "max_pixels": {"type": "integer"},
    "max_neighbours": {"type": "integer"},
    "rerank": {"type": "string", "description":
      "How what is found is ordered anew; empty: by similarity alone"}}},
"Classes": {"type": "object", "required": ["classes"],
  "additionalProperties": false, "properties": {"classes": {"type": "array",
    "items": {"type": "object", "required": ["label", "count"],
      "additionalProperties": false, "properties": {
        "label": {"type": "string"},
        "count": {"type": "integer", "minimum": 1}}}}}},
"Item": {"type": "object",
  "required": ["position", "id", "label", "path", "image"],
  "properties": {
    "position": {"type": "integer", "minimum": 0, "description":
      "Names the item until the index is made anew"},
    "id": {"type": "string", "description":
      "What the item was added with, else its path"},
    "label": {"type": "string", "description": "Its class, or empty"},
    "path": {"type": "string"},
    "image": {"type": "string", "description": "The address of its picture"},
    "id_bytes": {"type": "string"},
    "path_bytes": {"type": "string", "description":
      "In hexadecimal digits, if the path is not UTF-8"}}},
"Items": {"type": "object", "required": ["items"],
  "additionalProperties": false, "properties": {"items": {"type": "array",
    "minItems": 1, "items": {"$ref": "#/components/schemas/Item"}}}},
"Results": {"type": "object", "required": ["results", "milliseconds"],
  "additionalProperties": false, "properties": {
    "results": {"type": "array", "description":
      "The nearest first, or as rerank of Info orders them", "items":
      {"allOf": [{"$ref": "#/components/schemas/Item"},
        {"required": ["similarity"], "properties": {
          "similarity": {"type": "number", "description": "The cosine"},
          "accepted": {"type": "boolean", "description":
            "With a threshold: the similarity is at least that"}}}]}},
    "milliseconds": {"type": "number", "minimum": 0},
    "accepted": {"type": "boolean", "description":
      "With a threshold: some result is accepted. False: nothing like the picture is in the index"},
    "threshold": {"type": "number", "description":
      "The least similarity that is accepted, where the index has one"}}},
"Removed": {"type": "object", "required": ["removed"],
  "additionalProperties": false,
  "properties": {"removed": {"type": "integer", "minimum": 1}}}
})");
}

Json all_parameters() {
  return parse_json(R"({
"k": {"name": "k", "in": "query", "description":
  "How many to find; max_neighbours of the server at most",
  "schema": {"type": "integer", "minimum": 1, "default": 12}},
"size": {"name": "size", "in": "query", "description":
  "Pixels of the long side",
  "schema": {"type": "integer", "minimum": 16, "maximum": 2048,
    "default": 512}},
"label": {"name": "label", "in": "query", "description":
  "Of a search: only this class. Of new items: their class",
  "schema": {"type": "string", "maxLength": 200}},
"id": {"name": "id", "in": "query", "description":
  "Of a new item: 1 to 100 letters, digits, '.', '_' and '-'. Else what an item was added with, or its path",
  "schema": {"type": "string", "minLength": 1}},
"position": {"name": "position", "in": "path", "required": true,
  "schema": {"type": "integer", "minimum": 0}},
"file": {"name": "file", "in": "path", "required": true,
  "schema": {"type": "string"}},
"index": {"name": "index", "in": "path", "required": true, "description":
  "A name of GET /api/indexes", "schema": {"type": "string"}}
})");
}

std::string error_text(int status) {
  static const std::map<int, std::string> texts = {
      {400, "A malformed parameter, form or picture"},
      {401, "The token is missing or wrong"},
      {403, "Not for pages of other sites, or changes are not allowed"},
      {404, "There is no such index or item, or its file is gone"},
      {408, "The body did not come in time"},
      {409, "There is an item with this id already"},
      {411, "The length of the body must be known"},
      {413, "Too many bytes or pixels"},
      {415, "Not a picture of a kind that is read"},
      {429, "Too many wrong tokens, or too many connections of a client"},
      {500, "The server's log says why"},
      {503,
       "Too much waits or takes too long, or another program changes the "
       "index; try again"},
      {507, "No more room for pictures"}};
  return texts.at(status);
}

/// What may go wrong at a route.
std::vector<int> errors_of(const Route& route, bool in_index) {
  const bool is_api = route.path.starts_with("/api/");
  const bool has_body = route.body != RouteBody::kNone;
  const bool changes = route.access == RouteAccess::kChange;
  std::vector<int> errors = {400};
  const auto add = [&errors](bool may, std::initializer_list<int> more) {
    if (may) errors.insert(errors.end(), more);
  };
  add(route.access != RouteAccess::kOpen, {401});
  add(is_api, {403});
  add(in_index || route.path.find('{') != route.path.npos ||
          route.kind == RouteKind::kFindItem ||
          route.kind == RouteKind::kAnyItem ||
          route.kind == RouteKind::kRemoveItem,
      {404});
  add(has_body, {408});
  add(changes && has_body, {409});
  add(has_body, {411, 413, 415});
  add(route.access != RouteAccess::kOpen, {429});
  add(is_api, {500});
  add(is_api || route.kind == RouteKind::kReady, {503});
  add(changes && has_body, {507});
  return errors;
}

Json answers_of(const Route& route, bool in_index) {
  Json answers;
  for (const RouteAnswer& answer : route.answers) {
    const Json schema = answer.schema.empty()
                            ? Json::object()
                            : reference("schemas", answer.schema);
    answers[std::to_string(answer.status)] = {
        {"description", answer.status == 201 ? "Added" : "Done"},
        {"content", {{std::string(answer.type), {{"schema", schema}}}}}};
  }
  for (const int status : errors_of(route, in_index)) {
    answers[std::to_string(status)] =
        reference("responses", "E" + std::to_string(status));
  }
  return answers;
}

Json body_of(const Route& route) {
  const Json picture = {{"type", "string"}, {"format", "binary"}};
  Json properties;
  if (route.body == RouteBody::kPictures) {
    const Json text = {{"type", "array"}, {"items", {{"type", "string"}}}};
    properties = {{"image", {{"type", "array"}, {"items", picture}}},
                  {"id", text},
                  {"label", text}};
  } else {
    properties = {{"image", picture}};
    for (const RouteParameter& parameter : route.parameters) {
      if (parameter.is_needed) continue;
      properties[std::string(parameter.name)] = {{"type", "string"}};
    }
  }
  const Json form = {
      {"type", "object"}, {"required", {"image"}}, {"properties", properties}};
  return {{"required", true},
          {"content",
           {{"multipart/form-data", {{"schema", form}}},
            {"image/*", {{"schema", Json::object()}}},
            {"application/octet-stream", {{"schema", Json::object()}}}}}};
}

/// The names in braces of a path.
std::vector<std::string> places_of(const std::string& path) {
  std::vector<std::string> names;
  for (size_t at = path.find('{'); at != path.npos; at = path.find('{', at)) {
    const size_t end = path.find('}', at);
    names.push_back(path.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

Json operation_of(const Route& route, const std::string& path, bool in_index) {
  Json operation = {
      {"operationId", std::string(route.name) + (in_index ? "_in_index" : "")},
      {"summary", route.summary}};
  Json parameters = Json::array();
  for (const std::string& name : places_of(path)) {
    parameters.push_back(reference("parameters", name));
  }
  const Json known = all_parameters();
  for (const RouteParameter& parameter : route.parameters) {
    if (!parameter.is_needed) {
      parameters.push_back(reference("parameters", parameter.name));
      continue;
    }
    parameters.push_back(known.at(std::string(parameter.name)));
    parameters.back()["required"] = true;
  }
  if (!parameters.empty()) operation["parameters"] = parameters;
  if (route.body != RouteBody::kNone) operation["requestBody"] = body_of(route);
  operation["responses"] = answers_of(route, in_index);
  if (route.access == RouteAccess::kOpen) {
    operation["security"] = Json::array();
  } else {
    operation["security"] = {{{"token", Json::array()}}};
    // A server without a token lets everybody of its machine search.
    if (route.access == RouteAccess::kToken) {
      operation["security"].push_back(Json::object());
    }
  }
  return operation;
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(c));
  return small;
}

Json make_description() {
  Json paths;
  Json responses;
  const auto add = [&](const Route& route, const std::string& path,
                       bool in_index) {
    paths[path][lower(route.method)] = operation_of(route, path, in_index);
    for (const int status : errors_of(route, in_index)) {
      responses["E" + std::to_string(status)] = {
          {"description", error_text(status)},
          {"content",
           {{"application/json",
             {{"schema", reference("schemas", "Error")}}}}}};
    }
  };
  constexpr std::string_view kApi = "/api/";
  for (const Route& route : all_routes()) {
    add(route, std::string(route.path), false);
  }
  for (const Route& route : all_routes()) {
    if (!route.of_index()) continue;
    add(route,
        "/api/indexes/{index}/" + std::string(route.path.substr(kApi.size())),
        true);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "kith serve"},
            {"version", "1"},
            {"description",
             "Search by image. The addresses below /api/ mean the first index, "
             "the same below /api/indexes/{index}/ any of them."}}},
          {"servers", {{{"url", "/"}}}},
          {"paths", paths},
          {"components",
           {{"schemas", answer_schemas()},
            {"responses", responses},
            {"parameters", all_parameters()},
            {"securitySchemes",
             {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace

const Json& openapi_description() {
  static const Json description = make_description();
  return description;
}

}  // namespace kith
