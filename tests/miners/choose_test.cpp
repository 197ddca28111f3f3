#include "kith/miners/choose.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/miners/miners.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

std::vector<int64_t> values(const Tensor& t) {
  const Tensor all = t.to(torch::kLong).contiguous();
  const int64_t* data = all.data_ptr<int64_t>();
  return {data, data + all.numel()};
}

using Values = std::vector<int64_t>;

TEST(DrawUniform, TakesTheNumbersOfTheGeneratorInOrder) {
  Rng rng(3, Stream::kMiner);
  const Tensor u = draw_uniform(rng, 2, 5, at::kCPU);
  Rng same(3, Stream::kMiner);
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(u[i / 5][i % 5].item<double>(), same.uniform());
  }
  EXPECT_EQ(rng.next(), same.next());
}

// The largest number below 1 must not be rounded up to the count.
TEST(WhichOf, IsBelowTheCount) {
  const Tensor counts = torch::cat(
      {torch::arange(1, 5000), (int64_t{1} << 53) - torch::arange(1, 5000)});
  const Tensor last = torch::full({counts.size(0)}, 1 - 0x1.0p-53, at::kDouble);
  EXPECT_TRUE(torch::equal(which_of(last, counts), counts - 1));
  EXPECT_TRUE((which_of(last * 0, counts) == 0).all().item<bool>());
  EXPECT_EQ(
      values(which_of(torch::full({1}, 0.7, at::kDouble), labels_of({0}))),
      (Values{0}));
}

TEST(ChooseUniform, EachCandidateHasTheSameStretch) {
  const Tensor mask = labels_of({0, 1, 0, 1, 1, 0}).to(torch::kBool);
  const Tensor u = torch::tensor({0., .33, .34, .66, .67, .999}, at::kDouble);
  const Choice choice = choose_uniform(mask.expand({6, 6}), u);
  EXPECT_EQ(values(choice.position), (Values{1, 1, 3, 3, 4, 4}));
  EXPECT_TRUE(choice.found.all().item<bool>());
}

TEST(ChooseUniform, SaysWhereThereIsNothingToChoose) {
  const Tensor mask = labels_of({0, 0, 1, 1}).view({2, 2}).to(torch::kBool);
  const Choice choice =
      choose_uniform(mask, torch::full({2}, 0.9, at::kDouble));
  EXPECT_EQ(values(choice.found), (Values{0, 1}));
  EXPECT_EQ(values(choice.position), (Values{0, 1}));
}

TEST(ChooseWeighted, StretchesAreProportionalToTheWeights) {
  const Tensor weights = labels_of({0, 3, 0, 1}).expand({5, 4}).clone();
  const Tensor u = torch::tensor({0., .5, .74, .75, .99}, at::kDouble);
  EXPECT_EQ(values(choose_weighted(weights, u).position),
            (Values{1, 1, 1, 3, 3}));
}

TEST(ClassPlaces, WalkThroughAllPositivesAndNegatives) {
  const Tensor labels = labels_of({5, 2, 5, 9, 2, 5});
  const ClassPlaces places(labels);
  EXPECT_EQ(values(places.complete()), (Values{1, 1, 1, 0, 1, 1}));
  std::vector<std::set<int64_t>> positives(6);
  std::vector<std::set<int64_t>> negatives(6);
  for (const double u : {0., .2, .4, .6, .8, .999}) {
    const Tensor all = torch::full({6}, u, at::kDouble);
    const Values p = values(places.positives(all));
    const Values n = values(places.negatives(all));
    for (size_t i = 0; i < 6; ++i) {
      positives[i].insert(p[i]);
      negatives[i].insert(n[i]);
    }
  }
  using Set = std::set<int64_t>;
  EXPECT_EQ(positives,
            (std::vector<Set>{{2, 5}, {4}, {0, 5}, {3}, {1}, {0, 2}}));
  EXPECT_EQ(negatives, (std::vector<Set>{{1, 3, 4},
                                         {0, 2, 3, 5},
                                         {1, 3, 4},
                                         {0, 1, 2, 4, 5},
                                         {0, 2, 3, 5},
                                         {1, 3, 4}}));
}

}  // namespace
}  // namespace kith
