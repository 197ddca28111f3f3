#include "kith/ops/row_share.h"

#include <algorithm>

#include <torch/torch.h>

namespace kith {

RowShare::RowShare(const SortedSet& set, const BatchLanes& batch)
    : set_(set), batch_(batch), own_(of_rank(batch.ranks.rank())) {}

Stretch RowShare::of_rank(int64_t rank) const {
  const Lanes& lanes = batch_.lanes;
  const int64_t ranks = batch_.ranks.size();
  const Stretch first =
      cut_lane(set_, lanes.begin_of(rank, ranks), lanes.count);
  const Stretch last =
      cut_lane(set_, lanes.begin_of(rank + 1, ranks) - 1, lanes.count);
  return {first.begin, last.end, first.item_begin, last.item_end};
}

Tensor RowShare::hand_out(const Tensor& gradient) const {
  Communicator& ranks = batch_.ranks;
  if (ranks.size() == 1) {
    // All examples are its own: no need to wait for the GPU to look.
    return torch::empty_like(gradient).index_copy_(
        0, set_.order.narrow(0, 0, set_.examples),
        ranks.exchange(gradient, {gradient.size(0)}));
  }
  const Tensor order = set_.order.cpu();
  const int64_t* position = order.data_ptr<int64_t>();
  const std::vector<int64_t>& begins = batch_.begins;
  const auto owner = [&](int64_t row) {
    const auto after =
        std::upper_bound(begins.begin(), begins.end(), position[row]);
    return after - begins.begin() - 1;
  };
  std::vector<std::vector<int64_t>> to(static_cast<size_t>(ranks.size()));
  for (int64_t row = own_.begin; row < own_.end; ++row) {
    to[static_cast<size_t>(owner(row))].push_back(row - own_.begin);
  }
  std::vector<int64_t> sent, counts;
  for (const std::vector<int64_t>& rows : to) {
    sent.insert(sent.end(), rows.begin(), rows.end());
    counts.push_back(static_cast<int64_t>(rows.size()));
  }
  // The ranks' stretches follow each other, and so does what they send here.
  std::vector<int64_t> here;
  for (int64_t row = 0; row < set_.examples; ++row) {
    if (owner(row) == ranks.rank()) here.push_back(position[row]);
  }
  const auto index = [&](const std::vector<int64_t>& list) {
    return torch::tensor(list, torch::kLong).to(gradient.device());
  };
  const Tensor rows =
      ranks.exchange(gradient.index_select(0, index(sent)), counts);
  return torch::zeros({set_.examples, rows.size(1)}, rows.options())
      .index_copy_(0, index(here), rows);
}

}  // namespace kith
