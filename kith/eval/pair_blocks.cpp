#include "kith/eval/pair_blocks.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/eval/class_index.h"
#include "kith/index/row_blocks.h"
#include "kith/index/tell_others.h"

namespace kith {

void for_each_pair_block(const ScoredSet& set,
                         const std::function<void(const PairBlock&)>& visit) {
  const int64_t dim = set.gallery.dim();
  // A similarity in double and float32, on a GPU also a copy; rows in double.
  const int64_t cells = rows_within(set.memory_mb, 16);
  const int64_t rows = std::clamp<int64_t>(cells / 4096, 1, 1024);
  const int64_t columns =
      std::max<int64_t>((cells - rows * dim) / (rows + dim), 1);
  const bool among_themselves = set.queries.same_as(set.gallery);
  const Communicator& ranks = or_alone(set.ranks);
  int64_t turn = 0;
  for_each_block(set.queries, rows, [&](int64_t q, const Tensor& part) {
    const Tensor queries = part.to(torch::kDouble);
    const int64_t count = set.gallery.count();
    for (int64_t g = among_themselves ? q : 0; g < count; g += columns) {
      // All read it: they may have a part of it each.
      const Tensor items = set.gallery.read(g, std::min(columns, count - g));
      if (turn++ % ranks.size() != ranks.rank()) continue;
      const Tensor products =
          torch::mm(queries, items.to(torch::kDouble).t()).to(torch::kFloat);
      visit(PairBlock{products.to(torch::kCPU).contiguous(), q, g});
    }
  });
}

PairRows::PairRows(const ScoredSet& set)
    : query_labels_(label_vector(set.query_labels)),
      gallery_labels_(label_vector(set.gallery_labels)),
      self_(set.self.defined() ? set.self.contiguous() : Tensor()),
      among_themselves_(set.queries.same_as(set.gallery)) {}

void add_counts_of_others(Communicator* ranks, std::vector<int64_t>& counts) {
  Communicator& all = or_alone(ranks);
  if (all.size() == 1) return;
  const Tensor sums = all.all_reduce(torch::tensor(counts, torch::kLong));
  const int64_t* data = sums.data_ptr<int64_t>();
  counts.assign(data, data + sums.numel());
}

}  // namespace kith
