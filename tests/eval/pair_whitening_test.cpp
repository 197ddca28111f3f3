// Whitening from matching pairs, and the pairs that it is learnt from.
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/matching_pairs.h"
#include "kith/eval/whitening.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/golden.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::ElementsAre;

class PairWhiteningGolden : public ::testing::TestWithParam<GoldenCase> {};

// Against NumPy, with the arithmetic of the published code.
TEST_P(PairWhiteningGolden, IsThatOfThePublishedCode) {
  const Tensor x = GetParam().array("descriptors");
  const Tensor pairs = GetParam().array("pairs");
  const auto kept = GetParam().meta().at("kept").get<int64_t>();
  const Whitening all = Whitening::learn_from_pairs(x, pairs);
  EXPECT_LE(max_difference(all.mean(), GetParam().array("mean")), 1e-14);
  const Tensor projection = GetParam().array("projection");
  const double size = projection.abs().max().item<double>();
  EXPECT_LE(max_difference(all.projection(), projection), 1e-9 * size);
  const Whitening few = Whitening::learn_from_pairs(x, pairs, kept);
  EXPECT_EQ(few.dim(), kept);
  EXPECT_TRUE(same_bits(few.projection(),
                        all.projection().slice(0, 0, kept).contiguous()));
  // The sign of a row is free.
  EXPECT_LE(
      max_difference(few.apply(x).abs(), GetParam().array("whitened").abs()),
      1e-9);
  // As embeddings come: float32.
  const Whitening rounded =
      Whitening::learn_from_pairs(x.to(torch::kFloat), pairs, kept);
  EXPECT_LE(max_difference(rounded.apply(x), few.apply(x)), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, PairWhiteningGolden,
                         ::testing::ValuesIn(golden_cases("whitening_pairs")),
                         [](const auto& test) {
                           return test.param.test_name();
                         });

constexpr int64_t kPairDim = 5;

/// Two descriptors of each class; a class spreads a lot in the last number.
Tensor twins(int64_t classes) {
  const Tensor centres = random_normal({classes, kPairDim}, 1);
  Tensor noise = 0.05 * random_normal({2 * classes, kPairDim}, 2);
  noise.select(1, kPairDim - 1).mul_(60);
  return centres.repeat_interleave(2, 0) + noise;
}

Tensor twin_pairs(int64_t classes) {
  return torch::arange(2 * classes, torch::kLong).reshape({classes, 2});
}

TEST(PairWhitening, MakesDifferencesOfMatchesAlikeInAllDirections) {
  // More pairs and descriptors than are summed up at a time.
  constexpr int64_t kClasses = 5000;
  const Tensor x = twins(kClasses);
  const Tensor pairs = twin_pairs(kClasses);
  const Whitening whitening = Whitening::learn_from_pairs(x, pairs);
  const Tensor white = (x - whitening.mean()).mm(whitening.projection().t());
  const Tensor both = white.reshape({kClasses, 2, kPairDim});
  const Tensor d = both.select(1, 0) - both.select(1, 1);
  EXPECT_LE(max_difference(d.t().mm(d) / kClasses,
                           torch::eye(kPairDim, torch::kDouble)),
            1e-10);
  // What all vary in is uncorrelated, and falls.
  const Tensor all = white.t().mm(white) / white.size(0);
  EXPECT_LE(max_difference(all, all.diag().diag()),
            1e-10 * all.max().item<double>());
  const Tensor spread = all.diag();
  EXPECT_TRUE((spread.slice(0, 0, kPairDim - 1) >= spread.slice(0, 1))
                  .all()
                  .item<bool>());
  // PCA's keeps the number that says nothing first; this has it last.
  EXPECT_EQ(whitening.projection()[kPairDim - 1].abs().argmax().item<int64_t>(),
            kPairDim - 1);
}

double nearest_is_twin(const Tensor& rows) {
  Tensor similar = rows.mm(rows.t());
  similar.fill_diagonal_(-2);
  const Tensor twin = torch::arange(rows.size(0), torch::kLong).bitwise_xor(1);
  return (similar.argmax(1) == twin).to(torch::kDouble).mean().item<double>();
}

TEST(PairWhitening, FindsWhatPcaHides) {
  const Tensor learnt_of = twins(400);
  const Tensor other = twins(600).slice(0, 800);
  const double pairs = nearest_is_twin(
      Whitening::learn_from_pairs(learnt_of, twin_pairs(400)).apply(other));
  const double pca = nearest_is_twin(Whitening::learn(learnt_of).apply(other));
  EXPECT_GT(pairs, pca + 0.2);
}

TEST(PairWhitening, SaysWhatIsMissing) {
  const Tensor x = twins(20);
  const auto learn = [](const Tensor& rows, const Tensor& pairs,
                        int64_t dim = 0) {
    return Whitening::learn_from_pairs(rows, pairs, dim);
  };
  expect_error<DataError>([&] { learn(x, twin_pairs(20).slice(0, 0, 3)); },
                          "3 pairs", "3 of the 5 directions",
                          "more images of a class");
  expect_error<DataError>([&] { learn(x.slice(0, 0, 4), twin_pairs(2)); },
                          "whitening from pairs", "3 directions only");
  expect_error<DataError>([&] { learn(x, twin_pairs(20), 6); }, "6 dimensions",
                          "at most 5");
  Tensor bad = x.clone();
  bad[3][2] = NAN;
  expect_error<DataError>([&] { learn(bad, twin_pairs(20)); }, "NaN");
  EXPECT_THROW(learn(x, twin_pairs(20).select(1, 0)), c10::ValueError);
  EXPECT_THROW(learn(x, twin_pairs(20).to(torch::kDouble)), c10::ValueError);
}

// A direction in which nothing varies is left out, as rows of PCA's are.
TEST(PairWhitening, LeavesEmptyDirectionsOut) {
  const Tensor x = twins(50);
  const Tensor padded =
      torch::cat({x, torch::zeros({100, 2}, torch::kDouble)}, 1);
  const Whitening whitening =
      Whitening::learn_from_pairs(padded, twin_pairs(50), 3);
  const Whitening alone = Whitening::learn_from_pairs(x, twin_pairs(50), 3);
  EXPECT_LE(max_difference(whitening.apply(padded), alone.apply(x)), 1e-9);
}

ImageList list_of(const std::vector<int64_t>& labels) {
  ImageList list;
  for (const int64_t label : labels) list.items.push_back({.label = label});
  return list;
}

std::vector<int64_t> all_of(const ImageList& list) {
  return list.of_split(Split::kTrain);
}

TEST(MatchingPairs, GoRoundEachClass) {
  const ImageList list = list_of({4, 7, 4, 4, 9, 7, 4});
  Rng rng(1, Stream::kInit, {});
  const MatchingPairs drawn = draw_matching_pairs(list, all_of(list), 100, rng);
  EXPECT_THAT(drawn.images, ElementsAre(0, 1, 2, 3, 5, 6));  // 9 is alone
  ASSERT_EQ(drawn.rows.size(0), 6);
  std::map<int64_t, int> first, second;
  for (int64_t i = 0; i < 6; ++i) {
    const auto image = [&](int64_t column) {
      return drawn
          .images[static_cast<size_t>(drawn.rows[i][column].item<int64_t>())];
    };
    EXPECT_NE(image(0), image(1));
    EXPECT_EQ(list.items[static_cast<size_t>(image(0))].label,
              list.items[static_cast<size_t>(image(1))].label);
    ++first[image(0)];
    ++second[image(1)];
  }
  EXPECT_EQ(first.size(), 6u);
  EXPECT_EQ(second.size(), 6u);
}

TEST(MatchingPairs, AreDrawnUntilThereAreImagesEnough) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 300; ++i) labels.push_back(i / 3);
  const ImageList list = list_of(labels);
  const auto draw = [&](uint64_t seed) {
    Rng rng(seed, Stream::kInit, {});
    return draw_matching_pairs(list, all_of(list), 50, rng);
  };
  const MatchingPairs drawn = draw(1);
  EXPECT_LE(drawn.images.size(), 50u);
  EXPECT_GE(drawn.images.size(), 49u);
  EXPECT_EQ(draw(1).images, drawn.images);
  EXPECT_NE(draw(2).images, drawn.images);
  EXPECT_LT(drawn.rows.max().item<int64_t>(), std::ssize(drawn.images));
}

TEST(MatchingPairs, AreThoseThatTheDataNames) {
  ImageList list = list_of({1, 1, 1, 1});
  list.pairs = {{0, 2}, {3, 2}};
  Rng rng(1, Stream::kInit, {});
  const MatchingPairs drawn = draw_matching_pairs(list, {0, 1, 2}, 100, rng);
  EXPECT_THAT(drawn.images, ElementsAre(0, 2));
  EXPECT_TRUE(torch::equal(drawn.rows, torch::tensor({{0, 1}}, torch::kLong)));
  // Positions follow when images are left out.
  leave_out_items(list, {0});
  EXPECT_THAT(list.pairs, ElementsAre(std::array<int64_t, 2>{2, 1}));
}

TEST(MatchingPairs, AreNeeded) {
  const ImageList list = list_of({1, 2, 3});
  Rng rng(1, Stream::kInit, {});
  expect_error<DataError>(
      [&] { draw_matching_pairs(list, all_of(list), 100, rng); },
      "no two of the 3 images", "learn it without pairs");
}

}  // namespace
}  // namespace kith
