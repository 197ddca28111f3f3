#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kith/eval/scored.h"

namespace kith {

struct DiagnosticsOptions {
  int64_t hardest = 50;  ///< Queries, class pairs and hubs that are listed.
  int64_t pairs = 50;
  int64_t hubs = 50;
  int64_t k = 10;           ///< Neighbours that count for hubness.
  int64_t memory_mb = 512;  ///< For blocks.
};

/// How a query fares. Positions are those of the gallery, -1 for none; ranks
/// are from 1, 0 for none; other numbers are NaN for none.
struct QueryDiagnosis {
  double average_precision = std::numeric_limits<double>::quiet_NaN();
  int64_t nearest = -1;
  float nearest_similarity = std::numeric_limits<float>::quiet_NaN();
  int64_t nearest_positive_rank = 0;
  int64_t nearest_negative = -1;  ///< None also if it is not among the 1001
                                  ///< nearest items.
  float nearest_negative_similarity = std::numeric_limits<float>::quiet_NaN();
  int64_t farthest_positive = -1;
  int64_t farthest_positive_rank = 0;
  float farthest_positive_similarity = std::numeric_limits<float>::quiet_NaN();
};

/// Queries of one class whose nearest item is no positive, and of another class
/// (an image's own where lists, not labels, say what is right).
struct ConfusedPair {
  int64_t from = 0;  ///< Label of the queries,
  int64_t to = 0;    ///< and of their nearest items.
  int64_t count = 0;
  double share = 0;     ///< Of the queries of `from` that have positives.
  int64_t reverse = 0;  ///< The count from `to` to `from`.
};

struct Hub {
  int64_t item = 0;  ///< Gallery position.
  int64_t count = 0;
};

/// Of the counts N_k(j): how often gallery item j is among the k nearest of a
/// query (Radovanovic et al., Hubs in Space, JMLR 2010). Skewness is
/// E[(N - mean)^3] / E[(N - mean)^2]^1.5 over items, NaN if all are equal.
struct Hubness {
  int64_t k = 0;
  double skewness = std::numeric_limits<double>::quiet_NaN();
  int64_t maximum = 0;
  int64_t never_found = 0;   ///< Items with count 0.
  std::vector<Hub> largest;  ///< By count, then position.
};

struct Diagnostics {
  int64_t gallery = 0;
  int64_t without_positives = 0;        ///< Queries that are not judged.
  int64_t without_negative = 0;         ///< Queries with nearest_negative -1.
  std::vector<int64_t> query_labels;    ///< Empty if there are none.
  std::vector<int64_t> gallery_labels;  ///< The same.
  std::vector<QueryDiagnosis> queries;
  /// Queries by rising average precision, then falling rank of the nearest
  /// positive, then position.
  std::vector<int64_t> hardest;
  /// By falling count, falling share, then labels. Queries without positives
  /// do not count: their nearest item cannot be of their class.
  std::vector<ConfusedPair> confused;
  Hubness hubness;
};

/// What goes wrong in a retrieval. Rankings are those of evaluate(): the query
/// itself and its junk are left out, ties are ordered by position.
Diagnostics diagnose(const Scored& scored,
                     const DiagnosticsOptions& options = {});

}  // namespace kith
