#include "kith/train/training_pool.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace kith {
namespace {

Tensor planned(const TrainingPool& pool, int64_t images) {
  const EmbeddingPool view = pool.planned_from();
  return torch::from_blob(const_cast<float*>(view.values), {images, view.dim})
      .clone();
}

TEST(TrainingPool, AnEpochIsPlannedFromWhatWasThereAtItsStart) {
  TrainingPool pool({40, 7, 9}, 2);  // positions in the data set
  const Tensor first = torch::arange(6, torch::kFloat).view({3, 2});
  pool.fill(first);
  pool.begin_epoch();
  pool.update({9, 40}, torch::full({2, 2}, -1.));
  EXPECT_TRUE(torch::equal(planned(pool, 3), first));
  pool.begin_epoch();
  EXPECT_TRUE(
      torch::equal(planned(pool, 3),
                   torch::tensor({{-1.F, -1.F}, {2.F, 3.F}, {-1.F, -1.F}})));
}

TEST(TrainingPool, OfAnImageThatCameTwiceTheLastStays) {
  TrainingPool pool({0, 1}, 1);
  pool.update({1, 1}, torch::tensor({{5.}, {6.}}));
  pool.begin_epoch();
  EXPECT_TRUE(torch::equal(planned(pool, 2), torch::tensor({{0.F}, {6.F}})));
}

TEST(TrainingPool, ContinuesFromItsState) {
  TrainingPool first({0, 1}, 1);
  first.fill(torch::tensor({{1.F}, {2.F}}));
  first.begin_epoch();
  first.update({0}, torch::tensor({{3.F}}));
  TrainingPool second({0, 1}, 1);
  const NamedTensors from = first.state();
  NamedTensors to = second.state();
  for (size_t i = 0; i < from.size(); ++i) {
    to[i].second.copy_(from[i].second);
  }
  EXPECT_TRUE(torch::equal(planned(second, 2), planned(first, 2)));
  second.begin_epoch();
  EXPECT_TRUE(torch::equal(planned(second, 2), torch::tensor({{3.F}, {2.F}})));
}

}  // namespace
}  // namespace kith
