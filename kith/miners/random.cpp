#include "kith/miners/random.h"

#include <map>

#include <torch/torch.h>

namespace kith {

const char* const RandomMiner::kSummary =
    "one positive and one negative for each anchor, uniformly";

const PartFacts RandomMiner::kFacts = {
    .formula =
        "p uniform over P_a, n uniform over N_a,\n"
        "for each anchor a that has both",
    .source = "Roth et al., ICML 2020",
    .cost = "O(M log M) time, O(M) memory"};

Tensor RandomMiner::mine(const Tensor& embeddings, const Tensor& labels,
                         Rng& rng) const {
  const Tensor host = labels.to(at::kCPU).contiguous();
  const int64_t* label = host.data_ptr<int64_t>();
  const int64_t m = host.size(0);
  // Positions sorted by class: a class is a range, its complement the rest.
  std::map<int64_t, std::vector<int64_t>> classes;
  for (int64_t i = 0; i < m; ++i) classes[label[i]].push_back(i);
  std::vector<int64_t> order;
  std::map<int64_t, int64_t> begin;
  for (const auto& [id, members] : classes) {
    begin[id] = static_cast<int64_t>(order.size());
    order.insert(order.end(), members.begin(), members.end());
  }
  std::vector<int64_t> place(static_cast<size_t>(m));
  for (size_t i = 0; i < order.size(); ++i) {
    place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }

  std::vector<int64_t> tuples;
  for (int64_t anchor = 0; anchor < m; ++anchor) {
    const int64_t first = begin[label[anchor]];
    const auto size = static_cast<int64_t>(classes[label[anchor]].size());
    if (size < 2 || size == m) continue;
    int64_t positive = rng.between(first, first + size - 2);
    if (positive >= place[static_cast<size_t>(anchor)]) ++positive;
    int64_t negative = rng.between(0, m - size - 1);
    if (negative >= first) negative += size;
    tuples.insert(tuples.end(), {anchor, order[static_cast<size_t>(positive)],
                                 order[static_cast<size_t>(negative)]});
  }
  const auto rows = static_cast<int64_t>(tuples.size()) / 3;
  return torch::tensor(tuples, torch::kLong)
      .view({rows, 3})
      .to(embeddings.device());
}

KITH_REGISTER(miner_registry(), "random", RandomMiner);

}  // namespace kith
