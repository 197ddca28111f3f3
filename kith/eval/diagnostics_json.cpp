#include "kith/eval/diagnostics_json.h"

#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "kith/core/json_text.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

/// 9 significant digits; null for NaN.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[64];
  const auto written = std::to_chars(text, text + sizeof text, value,
                                     std::chars_format::general, 9);
  double rounded = 0;
  std::from_chars(text, written.ptr, rounded);
  return rounded;
}

Json position(int64_t value) { return value < 0 ? Json() : Json(value); }
Json rank(int64_t value) { return value == 0 ? Json() : Json(value); }

void add_path(Json& json, const std::string& key,
              const std::vector<std::string>& paths, int64_t item) {
  if (item < 0 || item >= std::ssize(paths)) return;
  set_path(json, key, paths[static_cast<size_t>(item)]);
}

/// The label of an item at `key`, and its class's name at `key`_name.
void add_label(Json& json, const std::string& key, int64_t label,
               const DiagnosticNames& names) {
  json[key] = label;
  const auto found = names.class_names.find(label);
  if (found != names.class_names.end()) json[key + "_name"] = found->second;
}

Json hardest_json(const Diagnostics& d, const DiagnosticNames& names) {
  Json list = Json::array();
  for (int64_t q : d.hardest) {
    const QueryDiagnosis& query = d.queries[static_cast<size_t>(q)];
    Json entry = {{"query", q}};
    add_path(entry, "path", names.query_paths, q);
    if (!d.query_labels.empty()) {
      add_label(entry, "class", d.query_labels[static_cast<size_t>(q)], names);
    }
    entry["average_precision"] = number(query.average_precision);
    entry["nearest_positive_rank"] = rank(query.nearest_positive_rank);
    entry["nearest"] = position(query.nearest);
    add_path(entry, "nearest_path", names.gallery_paths, query.nearest);
    if (!d.gallery_labels.empty() && query.nearest >= 0) {
      add_label(entry, "nearest_class",
                d.gallery_labels[static_cast<size_t>(query.nearest)], names);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json confused_json(const Diagnostics& d, const DiagnosticNames& names) {
  Json list = Json::array();
  for (const ConfusedPair& pair : d.confused) {
    Json entry;
    add_label(entry, "from", pair.from, names);
    add_label(entry, "to", pair.to, names);
    entry["count"] = pair.count;
    entry["share"] = number(pair.share);
    entry["reverse"] = pair.reverse;
    entry["both"] = pair.count + pair.reverse;
    list.push_back(std::move(entry));
  }
  return list;
}

Json hubness_json(const Diagnostics& d, const DiagnosticNames& names) {
  const Hubness& hubness = d.hubness;
  Json hubs = Json::array();
  for (const Hub& hub : hubness.largest) {
    Json entry = {{"item", hub.item}};
    add_path(entry, "path", names.gallery_paths, hub.item);
    entry["count"] = hub.count;
    hubs.push_back(std::move(entry));
  }
  const double share =
      static_cast<double>(hubness.never_found) / static_cast<double>(d.gallery);
  return {{"k", hubness.k},
          {"skewness", number(hubness.skewness)},
          {"maximum", hubness.maximum},
          {"never_found", hubness.never_found},
          {"never_found_share", number(share)},
          {"hubs", hubs}};
}

template <class Value>
Json column(const Diagnostics& d, const Value& value) {
  Json list = Json::array();
  for (const QueryDiagnosis& query : d.queries) list.push_back(value(query));
  return list;
}

Json by_query_json(const Diagnostics& d) {
  using Query = QueryDiagnosis;
  return {
      {"average_precision",
       column(d, [](const Query& q) { return number(q.average_precision); })},
      {"nearest",
       column(d, [](const Query& q) { return position(q.nearest); })},
      {"nearest_similarity",
       column(d, [](const Query& q) { return number(q.nearest_similarity); })},
      {"nearest_positive_rank",
       column(d, [](const Query& q) { return rank(q.nearest_positive_rank); })},
      {"nearest_negative",
       column(d, [](const Query& q) { return position(q.nearest_negative); })},
      {"nearest_negative_similarity",
       column(d,
              [](const Query& q) {
                return number(q.nearest_negative_similarity);
              })},
      {"farthest_positive",
       column(d, [](const Query& q) { return position(q.farthest_positive); })},
      {"farthest_positive_rank",
       column(d,
              [](const Query& q) { return rank(q.farthest_positive_rank); })},
      {"farthest_positive_similarity", column(d, [](const Query& q) {
         return number(q.farthest_positive_similarity);
       })}};
}

Json definitions() {
  return {
      {"ranking",
       "gallery items by cosine similarity, without the query itself and its "
       "junk, ties by lower position; ranks from 1, positions from 0"},
      {"queries_without_negative",
       "queries with no negative among the 1001 nearest items: null in "
       "nearest_negative"},
      {"hardest_queries",
       "queries with the lowest average precision, then the last nearest "
       "positive; those without positives are left out"},
      {"average_precision",
       "mean over the query's positives of the precision at their rank; null "
       "without positives"},
      {"nearest",
       "position of the nearest item; nearest_similarity: its "
       "cosine similarity"},
      {"nearest_positive_rank", "rank of the first positive"},
      {"nearest_negative",
       "position of the first item that is no positive, and its similarity"},
      {"farthest_positive",
       "position of the last positive, its rank and similarity"},
      {"confused_pairs",
       "count: queries of class from, with positives, whose nearest item is "
       "none of them and of class to; share: of such queries of from; reverse: "
       "the count from to "
       "to from; both: the sum"},
      {"hubness",
       "of N_k(j), how often item j is among the k nearest of a query: "
       "skewness: third standardised moment; never_found: items with N_k 0; "
       "hubs: the items with the largest N_k"}};
}

}  // namespace

std::string diagnostics_json(const Diagnostics& diagnostics,
                             const DiagnosticNames& names) {
  const Json json = {
      {"queries", diagnostics.queries.size()},
      {"gallery", diagnostics.gallery},
      {"queries_without_positives", diagnostics.without_positives},
      {"queries_without_negative", diagnostics.without_negative},
      {"definitions", definitions()},
      {"hardest_queries", hardest_json(diagnostics, names)},
      {"confused_pairs", confused_json(diagnostics, names)},
      {"hubness", hubness_json(diagnostics, names)},
      {"by_query", by_query_json(diagnostics)}};
  return json_text(json, -1);
}

}  // namespace kith
