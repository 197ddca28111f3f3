#include "kith/report/class_scores.h"

#include <map>
#include <utility>

#include "kith/core/error.h"

namespace kith {
namespace {

bool is_judged(const QueryDiagnosis& query) {
  return query.nearest_positive_rank > 0 && query.nearest >= 0;
}

/// Of each pair of labels the query that is most like what it found.
std::map<std::pair<int64_t, int64_t>, size_t> examples(const Diagnostics& all) {
  std::map<std::pair<int64_t, int64_t>, size_t> best;
  for (size_t q = 0; q < all.queries.size(); ++q) {
    const QueryDiagnosis& query = all.queries[q];
    if (!is_judged(query)) continue;
    const int64_t to = all.gallery_labels[static_cast<size_t>(query.nearest)];
    const auto [found, added] =
        best.emplace(std::make_pair(all.query_labels[q], to), q);
    if (!added && query.nearest_similarity >
                      all.queries[found->second].nearest_similarity) {
      found->second = q;
    }
  }
  return best;
}

}  // namespace

std::vector<ClassScore> class_scores(const Diagnostics& diagnostics,
                                     const ImageList& list) {
  std::map<int64_t, ClassScore> by_label;
  for (size_t q = 0; q < diagnostics.queries.size(); ++q) {
    const QueryDiagnosis& query = diagnostics.queries[q];
    if (!is_judged(query)) continue;
    ClassScore& score = by_label[diagnostics.query_labels[q]];
    ++score.queries;
    score.recall += query.nearest_positive_rank == 1 ? 1 : 0;
    score.average_precision += query.average_precision;
  }
  std::vector<ClassScore> scores;
  for (auto& [label, score] : by_label) {
    score.name = list.class_name(label);
    score.label = label;
    score.recall /= static_cast<double>(score.queries);
    score.average_precision /= static_cast<double>(score.queries);
    scores.push_back(std::move(score));
  }
  return scores;
}

std::vector<ConfusedClasses> confused_classes(const Diagnostics& diagnostics,
                                              const EvalTask& task,
                                              const ImageList& list,
                                              Thumbnails& thumbnails) {
  const auto best = examples(diagnostics);
  std::vector<ConfusedClasses> result;
  for (const ConfusedPair& pair : diagnostics.confused) {
    const auto found = best.find({pair.from, pair.to});
    KITH_ASSERT(found != best.end());
    const int64_t nearest = diagnostics.queries[found->second].nearest;
    result.push_back(
        {list.class_name(pair.from), list.class_name(pair.to), pair.count,
         pair.share, pair.reverse,
         thumbnails.place(task.queries[found->second]),
         thumbnails.place(task.gallery[static_cast<size_t>(nearest)])});
  }
  return result;
}

}  // namespace kith
