#include "kith/report/retrieval_faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace kith {
namespace {

/// The last ranks of FirstRight::counts, but for the last of all.
constexpr std::array<int64_t, 4> kLastRanks = {1, 4, 16, 100};

/// Whether all right items of a query come before any wrong one. Of queries
/// without a wrong one among the 1001 nearest, if the last right one is there.
bool is_apart(const QueryDiagnosis& query) {
  constexpr int64_t kLooked = 1001;
  if (query.nearest_negative < 0)
    return query.farthest_positive_rank <= kLooked;
  return query.farthest_positive_similarity > query.nearest_negative_similarity;
}

}  // namespace

FirstRight first_right_of(const Diagnostics& diagnostics) {
  FirstRight result;
  result.counts.resize(kLastRanks.size() + 1);
  for (const QueryDiagnosis& query : diagnostics.queries) {
    if (query.nearest_positive_rank == 0) continue;
    ++result.queries;
    result.apart += is_apart(query);
    const auto place = std::lower_bound(kLastRanks.begin(), kLastRanks.end(),
                                        query.nearest_positive_rank);
    ++result.counts[static_cast<size_t>(place - kLastRanks.begin())];
  }
  return result;
}

Hubs hubs_of(const Diagnostics& diagnostics, const EvalTask& task,
             Thumbnails& thumbnails) {
  const Hubness& hubness = diagnostics.hubness;
  Hubs hubs;
  hubs.k = std::min(hubness.k, diagnostics.gallery);
  hubs.skewness = hubness.skewness;
  hubs.maximum = hubness.maximum;
  hubs.never_found = hubness.never_found;
  hubs.items = diagnostics.gallery;
  hubs.expected = static_cast<double>(hubs.k) *
                  static_cast<double>(diagnostics.queries.size()) /
                  static_cast<double>(diagnostics.gallery);
  std::map<int64_t, int64_t> queries_of;
  if (task.lists.empty()) {
    for (const int64_t label : diagnostics.query_labels) ++queries_of[label];
  }
  for (const Hub& hub : hubness.largest) {
    const auto item = static_cast<size_t>(hub.item);
    Hubs::Item shown{thumbnails.place(task.gallery[item]), hub.count, 0};
    if (item < diagnostics.gallery_labels.size()) {
      const auto found = queries_of.find(diagnostics.gallery_labels[item]);
      if (found != queries_of.end()) shown.of_class = found->second;
    }
    hubs.largest.push_back(shown);
  }
  return hubs;
}

std::vector<PicturePair> lookalikes_of(const Diagnostics& diagnostics,
                                       const EvalTask& task, int64_t most,
                                       Thumbnails& thumbnails) {
  using Found = std::tuple<float, int64_t, int64_t>;  // -similarity, items
  std::vector<Found> found;
  for (size_t q = 0; q < diagnostics.queries.size(); ++q) {
    const QueryDiagnosis& query = diagnostics.queries[q];
    if (query.nearest_negative < 0 || query.nearest_positive_rank == 0)
      continue;
    found.emplace_back(
        -query.nearest_negative_similarity, task.queries[q],
        task.gallery[static_cast<size_t>(query.nearest_negative)]);
  }
  std::sort(found.begin(), found.end());
  std::vector<PicturePair> pairs;
  std::set<std::pair<int64_t, int64_t>> seen;
  for (const auto& [similarity, query, item] : found) {
    if (std::ssize(pairs) >= most) break;
    if (!seen.insert(std::minmax(query, item)).second) continue;
    pairs.push_back(
        {thumbnails.place(query), thumbnails.place(item), -similarity});
  }
  return pairs;
}

std::vector<PicturePair> duplicate_pictures(const StoredDuplicates& duplicates,
                                            const ImageList& list, int64_t most,
                                            Thumbnails& thumbnails) {
  const auto count =
      std::min(duplicates.pairs.size(), static_cast<size_t>(most));
  std::map<std::string_view, int64_t> item_of;
  for (size_t i = 0; i < count; ++i) {
    item_of[duplicates.pairs[i].train] = -1;
    item_of[duplicates.pairs[i].test] = -1;
  }
  for (int64_t i = 0; i < std::ssize(list.items); ++i) {
    const auto found = item_of.find(list.items[static_cast<size_t>(i)].path);
    if (found != item_of.end() && found->second < 0) found->second = i;
  }
  const auto place = [&](const std::string& path) {
    const int64_t item = item_of.at(path);
    return item < 0 ? std::numeric_limits<size_t>::max()
                    : thumbnails.place(item);
  };
  std::vector<PicturePair> pairs;
  for (size_t i = 0; i < count; ++i) {
    pairs.push_back({place(duplicates.pairs[i].train),
                     place(duplicates.pairs[i].test), 1.0});
  }
  return pairs;
}

}  // namespace kith
