#include "kith/index/search_reranked.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/products.h"
#include "kith/index/rerank_rows.h"
#include "kith/index/reranked.h"

namespace kith {
namespace {

/// Of a step that leaves it open.
constexpr int64_t kUsualCandidates = 200;

using Hits = std::vector<SearchHit>;

std::vector<int64_t> positions_of(const Hits& hits) {
  std::vector<int64_t> positions;
  for (const SearchHit& hit : hits) positions.push_back(hit.position);
  return positions;
}

/// [1, n]
Tensor similarities_of(const Hits& hits) {
  std::vector<float> similarities;
  for (const SearchHit& hit : hits) similarities.push_back(hit.similarity);
  return torch::tensor(similarities).unsqueeze(0);
}

/// One query [1, dim] in an index.
struct RerankedSearch {
  const StoredIndex& index;
  const RerankSteps& steps;
  const std::function<bool(int64_t)>& keep;

  Hits nearest(const Tensor& query, int64_t k) const {
    return index.search(query, k, keep).front();
  }

  Tensor vectors(const Hits& hits) const {
    return rows_at(index.rows(), positions_of(hits));
  }

  /// The query after the steps that change it.
  Tensor changed(Tensor query) const {
    for (const RerankStep& step : steps) {
      const auto* part = dynamic_cast<const VectorReranker*>(step.part.get());
      if (part == nullptr) continue;
      const Hits near = nearest(query, part->neighbours());
      if (near.empty()) continue;
      query = sum_with(*part, query, vectors(near).unsqueeze(0),
                       similarities_of(near));
    }
    return query;
  }

  Hits ordered(const Tensor& query, const OrderReranker& last,
               int64_t k) const {
    const int64_t most =
        last.candidates() > 0 ? last.candidates() : kUsualCandidates;
    Hits hits = nearest(query, std::max(k, most));
    const auto few = std::min(hits.size(), static_cast<size_t>(most));
    const Hits first(hits.begin(), hits.begin() + static_cast<long>(few));
    const Tensor similarities = similarities_of(first);
    const std::vector<int64_t> order = candidate_order(
        last, query, vectors(first), similarities.data_ptr<float>());
    for (size_t i = 0; i < few; ++i) {
      hits[i] = first[static_cast<size_t>(order[i])];
    }
    return hits;
  }

  Hits search(const Tensor& query, int64_t k) const {
    const Tensor now = changed(query);
    const OrderReranker* last = order_of(steps);
    Hits hits = last == nullptr ? nearest(now, k) : ordered(now, *last, k);
    hits.resize(std::min(hits.size(), static_cast<size_t>(k)));
    if (!now.is_same(query)) set_similarities(query, hits);
    return hits;
  }

  /// Those to the query as it came.
  void set_similarities(const Tensor& query, Hits& hits) const {
    const auto n = static_cast<int64_t>(hits.size());
    const Tensor found =
        exact_similarities(query, vectors(hits), torch::zeros({n}, at::kLong),
                           torch::arange(n, at::kLong));
    for (size_t i = 0; i < hits.size(); ++i) {
      hits[i].similarity = found.data_ptr<float>()[i];
    }
  }
};

}  // namespace

void check_rerank(const RerankSteps& steps, const StoredIndex& index) {
  for (const RerankStep& step : steps) {
    const auto* part = dynamic_cast<const VectorReranker*>(step.part.get());
    if (part != nullptr && part->side() == VectorReranker::Side::kGallery) {
      throw ConfigError("re-ranking " + step.text +
                        " changes all vectors of an index, which a search "
                        "does not: it is for evaluations");
    }
  }
  if (steps.empty() || index.rows().defined()) return;
  throw ConfigError("re-ranking compares vectors, and an index of kind " +
                    index.info().kind +
                    " keeps none: make one of kind exact or hnsw");
}

std::vector<std::vector<SearchHit>> search_reranked(
    const StoredIndex& index, const Tensor& queries, int64_t k,
    const RerankSteps& steps, const std::function<bool(int64_t)>& keep) {
  if (steps.empty()) return index.search(queries, k, keep);
  check_rerank(steps, index);
  const Tensor rows = check_index_rows(queries, index.dim());
  const RerankedSearch search{index, steps, keep};
  std::vector<std::vector<SearchHit>> all;
  for (int64_t q = 0; q < rows.size(0); ++q) {
    all.push_back(search.search(rows.narrow(0, q, 1), k));
  }
  return all;
}

}  // namespace kith
