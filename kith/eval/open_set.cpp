#include "kith/eval/open_set.h"

#include <algorithm>
#include <cmath>

#include <torch/torch.h>

#include "kith/core/draw.h"
#include "kith/eval/class_index.h"
#include "kith/index/row_blocks.h"
#include "kith/index/shared_rows.h"

namespace kith {
namespace {

/// The rows at rising positions; of rows that ranks share each keeps its own.
Rows rows_kept(const Rows& rows, const std::vector<int64_t>& positions) {
  const auto select = [](const Tensor& all, const std::vector<int64_t>& which) {
    return all.index_select(
        0, torch::tensor(which, torch::kLong).to(all.device()));
  };
  if (rows.in_memory().defined()) return select(rows.in_memory(), positions);
  if (const RowShard* shard = rows.shard()) {
    std::vector<int64_t> mine;
    for (const int64_t position : positions) {
      const int64_t own = position - shard->first;
      if (own >= 0 && own < shard->mine.count()) mine.push_back(own);
    }
    return shared_rows(gather_rows(shard->mine, mine, 4096), *shard->ranks);
  }
  return rows_from(std::ssize(positions), rows.dim(),
                   [rows, positions](int64_t first, int64_t count) {
                     const auto begin = positions.begin() + first;
                     return rows_at(rows, {begin, begin + count});
                   })
      .on(rows.device());
}

}  // namespace

std::vector<int64_t> draw_unknown(const Tensor& gallery_labels, double share,
                                  uint64_t seed) {
  std::vector<int64_t> labels = label_vector(gallery_labels);
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  const int64_t classes = std::ssize(labels);
  if (share == 0 || classes < 2) return {};
  const int64_t count = std::clamp<int64_t>(
      std::llround(share * static_cast<double>(classes)), 1, classes - 1);
  Rng rng(seed, Stream::kProtocol);  // without keys, as no protocol draws
  std::vector<int64_t> drawn;
  for (const int64_t i : draw_distinct(classes, count, rng)) {
    drawn.push_back(labels[static_cast<size_t>(i)]);
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

Scored without_classes(const Scored& scored,
                       const std::vector<int64_t>& labels) {
  const bool apart = scored.gallery.defined();
  const Rows& gallery = apart ? scored.gallery : scored.queries;
  const std::vector<int64_t> items =
      label_vector(apart ? scored.gallery_labels : scored.query_labels);
  std::vector<int64_t> kept;
  std::vector<int64_t> kept_labels;
  std::vector<int64_t> new_place(items.size(), -1);
  for (size_t i = 0; i < items.size(); ++i) {
    if (std::binary_search(labels.begin(), labels.end(), items[i])) continue;
    new_place[i] = std::ssize(kept);
    kept.push_back(static_cast<int64_t>(i));
    kept_labels.push_back(items[i]);
  }
  Scored open = scored;
  open.gallery = rows_kept(gallery, kept);
  open.gallery_labels = torch::tensor(kept_labels, torch::kLong);
  std::vector<int64_t> self(static_cast<size_t>(scored.queries.count()), -1);
  for (size_t q = 0; q < self.size(); ++q) {
    const int64_t place = scored.self.defined()
                              ? scored.self.data_ptr<int64_t>()[q]
                          : apart ? -1
                                  : static_cast<int64_t>(q);
    if (place >= 0) self[q] = new_place[static_cast<size_t>(place)];
  }
  open.self = torch::tensor(self, torch::kLong);
  return open;
}

}  // namespace kith
