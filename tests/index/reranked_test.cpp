// Re-ranking against whole matrices (tests/golden, made with NumPy), and what
// must hold whatever the numbers are.
#include "kith/index/reranked.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/rerank_rows.h"
#include "kith/index/rerankers.h"
#include "kith/index/shared_rows.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/golden.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

RerankSet set_of_case(const GoldenCase& golden) {
  const Tensor gallery = golden.array("gallery");
  const Tensor queries = golden.array("queries");
  // Where all are among themselves they are the same rows.
  const Rows items(gallery);
  return {torch::equal(queries, gallery) ? items : Rows(queries), items,
          golden.array("self")};
}

KReciprocalOptions options_of(const GoldenCase& golden) {
  const auto meta = golden.meta();
  return {.k1 = meta["k1"],
          .k2 = meta["k2"],
          .lambda = meta["lambda"],
          .candidates = meta.value("candidates", 0)};
}

/// Every item but the query itself is wanted.
RankedPairs all_pairs(const RerankSet& set, int64_t first, int64_t last) {
  RankedPairs pairs;
  pairs.first = first;
  for (int64_t q = first; q < last; ++q) {
    for (int64_t i = 0; i < set.gallery.count(); ++i) {
      if (set.self.defined() && set.self[q].item<int64_t>() == i) continue;
      pairs.items.push_back(i);
    }
    pairs.offsets.push_back(std::ssize(pairs.items));
  }
  return pairs;
}

/// [Q, N] places, 0 of the query itself.
Tensor all_ranks(const Reranked& reranked, const RerankSet& set) {
  const int64_t count = set.queries.count();
  const RankedPairs pairs = all_pairs(set, 0, count);
  const std::vector<int64_t> ranks = reranked.ranks(pairs);
  Tensor all = torch::zeros({count, set.gallery.count()}, at::kLong);
  for (int64_t q = 0; q < count; ++q) {
    for (auto i = static_cast<size_t>(pairs.offsets[static_cast<size_t>(q)]);
         i < static_cast<size_t>(pairs.offsets[static_cast<size_t>(q) + 1]);
         ++i) {
      all[q][pairs.items[i]] = ranks[i];
    }
  }
  return all;
}

class KReciprocalGolden : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(KReciprocalGolden, GivesTheSameDistances) {
  if (options_of(GetParam()).candidates > 0) return;
  const RerankSet set = set_of_case(GetParam());
  const auto order = KReciprocal(options_of(GetParam())).order(set);
  const Tensor distance = GetParam().array("distance");
  const Tensor s = torch::mm(set.queries.in_memory().to(at::kDouble),
                             set.gallery.in_memory().to(at::kDouble).t())
                       .to(at::kFloat);
  RelatedItems related;
  order->related(0, set.queries.count(), related);
  for (int64_t q = 0; q < set.queries.count(); ++q) {
    std::vector<double> apart(static_cast<size_t>(set.gallery.count()), 1);
    for (auto i =
             static_cast<size_t>(related.pairs.offsets[static_cast<size_t>(q)]);
         i <
         static_cast<size_t>(related.pairs.offsets[static_cast<size_t>(q) + 1]);
         ++i) {
      apart[static_cast<size_t>(related.pairs.items[i])] = related.apart[i];
    }
    for (int64_t i = 0; i < set.gallery.count(); ++i) {
      if (set.self[q].item<int64_t>() == i) continue;
      EXPECT_NEAR(order->distance(q, apart[static_cast<size_t>(i)],
                                  s[q][i].item<float>()),
                  distance[q][i].item<double>(), 1e-6)
          << "query " << q << " item " << i;
    }
  }
}

TEST_P(KReciprocalGolden, GivesTheSameRanks) {
  const RerankSet set = set_of_case(GetParam());
  const Reranked reranked({rerank_step<KReciprocal>(options_of(GetParam()))},
                          set);
  EXPECT_TRUE(
      torch::equal(all_ranks(reranked, set), GetParam().array("ranks")));
}

TEST_P(KReciprocalGolden, HasTheSameRanksInPartsAndFromFiles) {
  const TempDir dir;
  RerankSet set = set_of_case(GetParam());
  const RerankSteps steps = {rerank_step<KReciprocal>(options_of(GetParam()))};
  const RankedPairs pairs = all_pairs(set, 3, 9);
  const std::vector<int64_t> expected = Reranked(steps, set).ranks(pairs);
  const Tensor queries = set.queries.in_memory();
  const Tensor gallery = set.gallery.in_memory();
  const auto in_blocks = [](const Tensor& all) {
    return rows_from(all.size(0), all.size(1),
                     [all](int64_t first, int64_t rows) {
                       return all.narrow(0, first, rows);
                     });
  };
  set.queries = in_blocks(queries);
  set.gallery = in_blocks(gallery);
  set.memory_mb = 1;
  EXPECT_EQ(Reranked(steps, set).ranks(pairs), expected);
}

TEST_P(KReciprocalGolden, HasTheSameRanksOnSeveralRanks) {
  const RerankSet set = set_of_case(GetParam());
  const RerankSteps steps = {rerank_step<KReciprocal>(options_of(GetParam()))};
  const RankedPairs pairs = all_pairs(set, 0, set.queries.count());
  const std::vector<int64_t> expected = Reranked(steps, set).ranks(pairs);
  for (const int64_t size : {2, 3}) {
    const auto found =
        on_ranks<std::vector<int64_t>>(size, [&](Communicator& ranks) {
          RerankSet divided = set;
          divided.gallery = divided_rows(set.gallery, ranks);
          if (set.queries.same_as(set.gallery)) {
            divided.queries = divided.gallery;
          }
          return Reranked(steps, divided).ranks(pairs);
        });
    for (const auto& ranks : found) EXPECT_EQ(ranks, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Golden, KReciprocalGolden,
    ::testing::ValuesIn(golden_cases("rerank_k_reciprocal")),
    [](const auto& golden) { return golden.param.test_name(); });

class ExpansionGolden : public ::testing::TestWithParam<GoldenCase> {
 protected:
  template <class Type>
  RerankStep step() const {
    const auto meta = GetParam().meta();
    return rerank_step<Type>({.k = meta["k"], .alpha = meta["alpha"]});
  }
};

TEST_P(ExpansionGolden, QueriesAreThoseOfTheFormula) {
  const RerankSet set = set_of_case(GetParam());
  const auto step = this->step<QueryExpansion>();
  const RerankSet changed = with_new_vectors(step, QueryExpansion(), set);
  EXPECT_TRUE(changed.gallery.same_as(set.gallery));
  const auto* part = dynamic_cast<const VectorReranker*>(step.part.get());
  EXPECT_LE(
      max_difference(with_new_vectors(step, *part, set).queries.in_memory(),
                     GetParam().array("new_queries")),
      1e-6);
  EXPECT_TRUE(torch::equal(all_ranks(Reranked({step}, set), set),
                           GetParam().array("query_ranks")));
}

TEST_P(ExpansionGolden, TheGalleryIsThatOfTheFormula) {
  const RerankSet set = set_of_case(GetParam());
  const auto step = this->step<DatabaseAugmentation>();
  const auto* part = dynamic_cast<const VectorReranker*>(step.part.get());
  const RerankSet changed = with_new_vectors(step, *part, set);
  EXPECT_TRUE(changed.queries.same_as(set.queries));
  EXPECT_LE(max_difference(changed.gallery.in_memory(),
                           GetParam().array("new_gallery")),
            1e-6);
  EXPECT_TRUE(torch::equal(all_ranks(Reranked({step}, set), set),
                           GetParam().array("gallery_ranks")));
}

TEST_P(ExpansionGolden, HasTheSameRanksOnSeveralRanks) {
  const RerankSet set = set_of_case(GetParam());
  const RerankSteps steps = {step<DatabaseAugmentation>(),
                             step<QueryExpansion>()};
  const RankedPairs pairs = all_pairs(set, 0, set.queries.count());
  const std::vector<int64_t> expected = Reranked(steps, set).ranks(pairs);
  const auto found =
      on_ranks<std::vector<int64_t>>(3, [&](Communicator& ranks) {
        RerankSet divided = set;
        divided.gallery = divided_rows(set.gallery, ranks);
        return Reranked(steps, divided).ranks(pairs);
      });
  for (const auto& ranks : found) EXPECT_EQ(ranks, expected);
}

INSTANTIATE_TEST_SUITE_P(Golden, ExpansionGolden,
                         ::testing::ValuesIn(golden_cases("rerank_expansion")),
                         [](const auto& golden) {
                           return golden.param.test_name();
                         });

RerankSet random_set(int64_t items) {
  const Rows rows(normalize_rows(random_normal({items, 6}, 5, at::kFloat)));
  return {rows, rows, torch::arange(items, at::kLong)};
}

TEST(Reranked, StepsFollowEachOther) {
  // By hand: new gallery, then new queries, then the order.
  const RerankSet set = random_set(40);
  const RerankStep items = rerank_step<DatabaseAugmentation>({.k = 3});
  const RerankStep queries = rerank_step<QueryExpansion>({.k = 2});
  const RerankStep order = rerank_step<KReciprocal>({.k1 = 6, .k2 = 2});
  const auto changed = [](const RerankStep& step, const RerankSet& before) {
    return with_new_vectors(
        step, dynamic_cast<const VectorReranker&>(*step.part), before);
  };
  const RerankSet after = changed(queries, changed(items, set));
  EXPECT_TRUE(
      torch::equal(all_ranks(Reranked({items, queries, order}, set), set),
                   all_ranks(Reranked({order}, after), set)));
}

TEST(Reranked, RanksAreAPermutationAndTheSameTwice) {
  const RerankSet set = random_set(60);
  for (const char* text :
       {"k_reciprocal:k1=5,k2=3", "k_reciprocal:k1=5,k2=3,lambda=1",
        "k_reciprocal:k1=5,k2=3,candidates=12", "query_expansion:k=59"}) {
    const RerankSteps steps = parse_rerank({text}, "test");
    const Tensor ranks = all_ranks(Reranked(steps, set), set);
    EXPECT_TRUE(torch::equal(std::get<0>(ranks.sort(1)),
                             torch::arange(60, at::kLong).expand({60, 60})))
        << text;
    EXPECT_TRUE(torch::equal(ranks, all_ranks(Reranked(steps, set), set)));
  }
}

TEST(Reranked, WithAllOfTheOriginalDistanceNothingChanges) {
  const RerankSet set = random_set(50);
  EXPECT_TRUE(torch::equal(
      all_ranks(Reranked({rerank_step<KReciprocal>({.lambda = 1})}, set), set),
      all_ranks(Reranked({}, set), set)));
}

TEST(Reranked, ItemsThatAreAllTheSameKeepTheirOrder) {
  const Rows rows(torch::ones({9, 4}) / 2);
  const RerankSet set{rows, rows, torch::arange(9, at::kLong)};
  for (const char* text : {"k_reciprocal:k1=8,k2=9,lambda=1", "query_expansion",
                           "database_augmentation"}) {
    EXPECT_TRUE(torch::equal(
        all_ranks(Reranked(parse_rerank({text}, "test"), set), set),
        all_ranks(Reranked({}, set), set)))
        << text;
  }
}

/// Classes of 7 items among many, and each query wants 9 items of all kinds.
struct ManyItems {
  Tensor rows;
  RankedPairs pairs;

  ManyItems() {
    constexpr int64_t kCount = 2100;
    const Tensor centres = random_normal({kCount / 7, 24}, 1, at::kFloat);
    rows = normalize_rows(centres.repeat_interleave(7, 0) +
                          random_normal({kCount, 24}, 2, at::kFloat));
    for (int64_t q = 0; q < kCount; ++q) {
      for (int64_t i = 1; i < 10; ++i) {
        pairs.items.push_back((q + i * i * i) % kCount);
      }
      pairs.offsets.push_back(std::ssize(pairs.items));
    }
  }

  std::vector<int64_t> ranks(int64_t memory_mb,
                             c10::Device device = at::kCPU) const {
    const Rows items(rows.to(device));
    const RerankSet set{items, items, torch::arange(rows.size(0), at::kLong),
                        memory_mb};
    return Reranked({rerank_step<KReciprocal>()}, set).ranks(pairs);
  }
};

TEST(Reranked, RanksDoNotDependOnMemoryAndThreads) {
  const ManyItems many;
  const std::vector<int64_t> expected = many.ranks(512);
  EXPECT_EQ(many.ranks(1), expected);
  const int threads = torch::get_num_threads();
  torch::set_num_threads(3);
  const std::vector<int64_t> on_three = many.ranks(2);
  torch::set_num_threads(threads);
  EXPECT_EQ(on_three, expected);
}

/// Most items that are wanted come before all that are not related, so that
/// queries need not be compared with the gallery once more.
TEST(Reranked, RanksDoNotDependOnWhatElseIsWanted) {
  const Tensor centres = random_normal({30, 16}, 1, at::kFloat);
  Tensor rows = centres.repeat_interleave(9, 0);
  rows = normalize_rows(rows + 0.2 * random_normal({270, 16}, 2, at::kFloat));
  const Rows items(rows);
  const RerankSet set{items, items, torch::arange(270, at::kLong)};
  const Reranked reranked({rerank_step<KReciprocal>({.k1 = 8, .k2 = 3})}, set);
  const Tensor all = all_ranks(reranked, set);
  RankedPairs pairs;
  pairs.first = 7;
  for (int64_t q = 7; q < 250; ++q) {
    for (int64_t i = q / 9 * 9; i < q / 9 * 9 + 9; ++i) {
      if (i != q) pairs.items.push_back(i);
    }
    if (q % 5 == 0) pairs.items.push_back((q + 100) % 270);  // far away
    pairs.offsets.push_back(std::ssize(pairs.items));
  }
  const std::vector<int64_t> ranks = reranked.ranks(pairs);
  for (int64_t q = 0; q < pairs.queries(); ++q) {
    for (auto i = static_cast<size_t>(pairs.offsets[static_cast<size_t>(q)]);
         i < static_cast<size_t>(pairs.offsets[static_cast<size_t>(q) + 1]);
         ++i) {
      EXPECT_EQ(ranks[i], all[q + 7][pairs.items[i]].item<int64_t>());
    }
  }
}

TEST(Reranked, RanksAreTheSameOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const ManyItems many;
  EXPECT_EQ(many.ranks(2, at::kCUDA), many.ranks(512));
}

TEST(Reranked, TooFewItemsAreAnErrorThatSaysHowMany) {
  const RerankSet set = random_set(20);
  for (const char* text :
       {"k_reciprocal", "k_reciprocal:k1=25,candidates=50",
        "query_expansion:k=20", "database_augmentation:k=20"}) {
    expect_error<ConfigError>(
        [&] { Reranked(parse_rerank({text}, "test"), set); }, "only 19 others");
  }
  EXPECT_NO_THROW(Reranked(parse_rerank({"k_reciprocal:k1=19"}, "test"), set));
}

TEST(Reranked, RefusesRowsThatCannotBeCompared) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 1e30}) {
    Tensor rows = normalize_rows(random_normal({30, 4}, 1, at::kFloat)).clone();
    rows[7][2] = bad;
    const RerankSet set{Rows(rows), Rows(rows), torch::arange(30, at::kLong)};
    for (const char* text : {"k_reciprocal:k1=4,k2=2", "query_expansion",
                             "database_augmentation"}) {
      EXPECT_THROW(Reranked(parse_rerank({text}, "test"), set), DataError)
          << text << " " << bad;
    }
  }
}

TEST(Reranked, NewVectorsOfAFileMustFitInMemory) {
  const Tensor all = normalize_rows(random_normal({9000, 64}, 1, at::kFloat));
  const Rows rows = rows_from(9000, 64, [all](int64_t first, int64_t count) {
    return all.narrow(0, first, count);
  });
  const RerankSet set{rows, rows, torch::arange(9000, at::kLong), 1};
  expect_error<ConfigError>(
      [&] { Reranked({rerank_step<DatabaseAugmentation>()}, set); },
      "3 MB of new vectors");
}

TEST(RerankSteps, AreNamedWithAllTheirOptions) {
  const RerankSteps steps =
      parse_rerank({"query_expansion:k=2", "k_reciprocal:lambda=0.5"}, "here");
  EXPECT_EQ(text_of(steps),
            "query_expansion:k=2,alpha=3, "
            "k_reciprocal:k1=20,k2=6,lambda=0.5,candidates=0");
  EXPECT_EQ(rerank_step<QueryExpansion>({.k = 2}).text, steps[0].text);
}

TEST(RerankSteps, ThatMeanNothingAreErrors) {
  const auto parse = [](std::vector<std::string> texts) {
    return parse_rerank(texts, "here");
  };
  expect_error<ConfigError>([&] { parse({"k_reciproca"}); }, "k_reciprocal");
  expect_error<ConfigError>([&] { parse({""}); }, "here");
  expect_error<ConfigError>([&] { parse({"k_reciprocal:k3=4"}); }, "rerank.k3");
  expect_error<ConfigError>([&] { parse({"k_reciprocal:k1"}); }, "KEY=VALUE");
  expect_error<ConfigError>([&] { parse({"k_reciprocal:"}); }, "KEY=VALUE");
  expect_error<ConfigError>([&] { parse({"k_reciprocal:k1=4,,k2=3"}); },
                            "KEY=VALUE");
  expect_error<ConfigError>([&] { parse({"k_reciprocal:lambda=1.5"}); },
                            "rerank.lambda");
  expect_error<ConfigError>([&] { parse({"k_reciprocal:lambda=nan"}); },
                            "rerank.lambda");
  expect_error<ConfigError>([&] { parse({"k_reciprocal:k1=0"}); }, "rerank.k1");
  expect_error<ConfigError>([&] { parse({"k_reciprocal:k1=4"}); }, "rerank.k2");
  expect_error<ConfigError>([&] { parse({"k_reciprocal:candidates=20"}); },
                            "rerank.candidates");
  expect_error<ConfigError>([&] { parse({"query_expansion:alpha=-1"}); },
                            "rerank.alpha");
  expect_error<ConfigError>(
      [&] {
        parse({"k_reciprocal", "query_expansion"});
      },
      "name it last");
  expect_error<ConfigError>(
      [&] {
        parse({"k_reciprocal", "k_reciprocal"});
      },
      "name it last");
  expect_error<ConfigError>([&] { KReciprocal({.lambda = -0.1}); },
                            "k_reciprocal.lambda");
}

}  // namespace
}  // namespace kith
