#include "kith/miners/triplet_margin.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/miners/miners.h"
#include "tests/support/torch/batches.h"

namespace kith {
namespace {

/// All triplets whose D_an - D_ap satisfies `keep`, by three loops.
template <class Keep>
std::vector<Row> by_loops(const LabelledBatch& batch, const Keep& keep) {
  const Tensor distances = all_distances(batch.x);
  const auto d = distances.accessor<double, 2>();
  const auto y = batch.labels.accessor<int64_t, 1>();
  std::vector<Row> rows;
  for (int64_t a = 0; a < batch.size(); ++a) {
    for (int64_t p = 0; p < batch.size(); ++p) {
      for (int64_t n = 0; n < batch.size(); ++n) {
        if (a != p && y[a] == y[p] && y[a] != y[n] && keep(d[a][n] - d[a][p])) {
          rows.push_back({a, p, n});
        }
      }
    }
  }
  return rows;
}

std::vector<Row> mined(const LabelledBatch& batch, const std::string& kind) {
  const TripletMarginMiner miner({.kind = kind, .margin = 0.1});
  return sorted_rows(miner(batch.x, batch.labels));
}

// Distances to fewer than M / 2 negatives and to more, so that positive pairs
// take several stretches.
TEST(TripletMarginMiner, FindsAllTripletsOfAKind) {
  for (const LabelledBatch& batch :
       {make_batch({9, 5, 1, 2}, 4, 1), make_batch({15, 2}, 3, 2)}) {
    SCOPED_TRACE(batch.name);
    EXPECT_EQ(mined(batch, "all"),
              by_loops(batch, [](double gap) { return gap <= 0.1; }));
    EXPECT_EQ(mined(batch, "hard"),
              by_loops(batch, [](double gap) { return gap <= 0; }));
    EXPECT_EQ(mined(batch, "semihard"), by_loops(batch, [](double gap) {
                return gap > 0 && gap <= 0.1;
              }));
    EXPECT_EQ(mined(batch, "easy"),
              by_loops(batch, [](double gap) { return gap > 0.1; }));
  }
}

}  // namespace
}  // namespace kith
