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

/// Queries [Q, dim] in an index, each of which is by itself.
struct RerankedSearch {
  const StoredIndex& index;
  const RerankSteps& steps;
  const std::function<bool(int64_t)>& keep;

  Tensor vectors(const Hits& hits) const {
    return rows_at(index.rows(), positions_of(hits));
  }

  /// The queries after the steps that change them.
  Tensor changed(Tensor queries) const {
    for (const RerankStep& step : steps) {
      const auto* part = dynamic_cast<const VectorReranker*>(step.part.get());
      if (part == nullptr) continue;
      const auto near = index.search(queries, part->neighbours(), keep);
      queries = queries.clone();
      for (size_t q = 0; q < near.size(); ++q) {
        if (near[q].empty()) continue;
        Tensor row = queries.narrow(0, static_cast<int64_t>(q), 1);
        row.copy_(sum_with(*part, row, vectors(near[q]).unsqueeze(0),
                           similarities_of(near[q])));
      }
    }
    return queries;
  }

  /// Orders the first `most` hits of a query [1, dim].
  void order(const OrderReranker& last, const Tensor& query, int64_t most,
             Hits& hits) const {
    const auto few = std::min(hits.size(), static_cast<size_t>(most));
    const Hits first(hits.data(), hits.data() + few);
    const Tensor similarities = similarities_of(first);
    const std::vector<int64_t> places = candidate_order(
        last, query, vectors(first), similarities.data_ptr<float>());
    for (size_t i = 0; i < few; ++i) {
      hits[i] = first[static_cast<size_t>(places[i])];
    }
  }

  std::vector<Hits> search(const Tensor& queries, int64_t k) const {
    const Tensor now = changed(queries);
    const OrderReranker* last = order_of(steps);
    const int64_t most = last == nullptr           ? 0
                         : last->candidates() == 0 ? kUsualCandidates
                                                   : last->candidates();
    std::vector<Hits> all = index.search(now, std::max(k, most), keep);
    for (size_t q = 0; q < all.size(); ++q) {
      const auto row = static_cast<int64_t>(q);
      if (last != nullptr) order(*last, now.narrow(0, row, 1), most, all[q]);
      all[q].resize(std::min(all[q].size(), static_cast<size_t>(k)));
      if (!now.is_same(queries)) {
        set_similarities(queries.narrow(0, row, 1), all[q]);
      }
    }
    return all;
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
  return RerankedSearch{index, steps, keep}.search(rows, k);
}

}  // namespace kith
