#include "kith/samplers/pool/match_sampler.h"

#include <torch/torch.h>

#include "kith/core/draw.h"

namespace kith {

void MatchOptions::describe(OptionSet& set) {
  pool.describe(set);
  set.add("candidates", candidates,
          "Random batches of which the one most like the pool is taken.")
      .range(1);
}

/// Rows of P images; those of a group lie side by side.
std::vector<int64_t> MatchSampler::draw_pool(Rng& rng) const {
  ClassDraw images(classes());
  std::vector<int64_t> rows;
  while (static_cast<int64_t>(rows.size()) < pool()) {
    const auto c = static_cast<size_t>(rng.below(classes().size()));
    for (int64_t i = 0; i < per_class(); ++i) {
      rows.push_back(images.draw(c, rng));
    }
  }
  return rows;
}

/// Positions in the pool.
std::vector<int64_t> MatchSampler::draw_candidate(Rng& rng) const {
  std::vector<int64_t> positions;
  for (const int64_t group :
       draw_distinct(pool() / per_class(), batch() / per_class(), rng)) {
    for (int64_t i = 0; i < per_class(); ++i) {
      positions.push_back(group * per_class() + i);
    }
  }
  return positions;
}

std::vector<int64_t> MatchSampler::choose(const Tensor& embeddings,
                                          Rng& rng) const {
  const std::vector<int64_t> rows = draw_pool(rng);
  std::vector<int64_t> positions;  // [C, M]
  for (int64_t c = 0; c < candidates_; ++c) {
    const std::vector<int64_t> candidate = draw_candidate(rng);
    positions.insert(positions.end(), candidate.begin(), candidate.end());
  }
  const Tensor pooled = embeddings.index_select(0, torch::tensor(rows));
  const Tensor batches = torch::tensor(positions).view({candidates_, batch()});
  const auto best = score(pooled, batches).argmin().item<int64_t>();

  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < batch(); ++i) {
    const int64_t position = positions[static_cast<size_t>(best * batch() + i)];
    chosen.push_back(rows[static_cast<size_t>(position)]);
  }
  return chosen;
}

}  // namespace kith
