#include "kith/eval/query_neighbours.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/draw.h"
#include "kith/eval/relevance.h"
#include "kith/index/flat.h"

namespace kith {
namespace {

/// Gallery positions that are right for a query, and those that are junk, both
/// rising.
struct Answers {
  std::vector<int64_t> right;
  std::vector<int64_t> junk;
};

Answers answers_of(const Relevance& relevance, int64_t query) {
  Answers answers;
  relevance.append_items(query, answers.right);
  const auto junk = answers.right.begin() + relevance.positives(query);
  answers.junk.assign(junk, answers.right.end());
  answers.right.erase(junk, answers.right.end());
  std::sort(answers.right.begin(), answers.right.end());
  std::sort(answers.junk.begin(), answers.junk.end());
  return answers;
}

bool holds(const std::vector<int64_t>& rising, int64_t item) {
  return std::binary_search(rising.begin(), rising.end(), item);
}

}  // namespace

std::vector<std::vector<NeighbourItem>> query_neighbours(
    const EmbeddedSplit& split, const EvalTask& task,
    const std::vector<int64_t>& queries, int64_t k, int64_t memory_mb) {
  const torch::NoGradGuard no_grad;
  const Scored scored = checked_scored(split.scored(task));
  const Relevance relevance(scored);
  SearchOptions options{k, memory_mb};
  for (const int64_t query : queries) {  // so that k are left without junk
    options.k = std::max(options.k, k + relevance.junk(query));
  }
  const Tensor picks = torch::tensor(queries, torch::kLong);
  const Neighbours found =
      exact_search(scored.queries.in_memory().index_select(
                       0, picks.to(scored.queries.device())),
                   scored.gallery, scored.self.index_select(0, picks), options);
  const int64_t width = found.indices.size(1);

  std::vector<std::vector<NeighbourItem>> result;
  for (size_t i = 0; i < queries.size(); ++i) {
    const Answers answers = answers_of(relevance, queries[i]);
    const size_t begin = i * static_cast<size_t>(width);
    const int64_t* positions = found.indices.data_ptr<int64_t>() + begin;
    const float* similarities = found.similarities.data_ptr<float>() + begin;
    std::vector<NeighbourItem> items;
    for (int64_t j = 0; j < width && positions[j] >= 0; ++j) {
      if (std::ssize(items) == k) break;
      if (holds(answers.junk, positions[j])) continue;
      items.push_back({task.gallery[static_cast<size_t>(positions[j])],
                       similarities[j], holds(answers.right, positions[j])});
    }
    result.push_back(std::move(items));
  }
  return result;
}

std::vector<int64_t> draw_queries(const EvalTask& task, int64_t count,
                                  uint64_t seed) {
  Rng rng(seed, Stream::kReport);
  return draw_distinct(std::ssize(task.queries), count, rng);
}

}  // namespace kith
