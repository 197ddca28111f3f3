// Re-ranking in a search: the order of whole matrices (tests/golden), and that
// an answer is about its query and the items that may be found alone.
#include "kith/index/search_reranked.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/kinds.h"
#include "kith/index/rerankers.h"
#include "kith/ops/pairwise.h"
#include "tests/index/has_faiss.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/golden.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

StoredIndex index_of_rows(const Tensor& rows) {
  auto index = std::make_unique<ExactIndex>(rows.size(1));
  if (rows.size(0) > 0) index->add(rows);
  std::vector<IndexItem> items;
  for (int64_t i = 0; i < rows.size(0); ++i) {
    items.push_back({std::to_string(i), i % 2 == 0 ? "even" : "odd"});
  }
  return StoredIndex(std::move(index), items, {"exact", "", "", {}, {}});
}

std::vector<int64_t> places_of(const std::vector<SearchHit>& hits) {
  std::vector<int64_t> places;
  for (const SearchHit& hit : hits) places.push_back(hit.position);
  return places;
}

/// The items with the first `k` of some ranks.
std::vector<int64_t> first_by_rank(const Tensor& ranks, int64_t k) {
  std::vector<int64_t> items(static_cast<size_t>(k));
  for (int64_t i = 0; i < ranks.size(0); ++i) {
    const auto rank = ranks[i].item<int64_t>();
    if (rank <= k) items[static_cast<size_t>(rank) - 1] = i;
  }
  return items;
}

TEST(SearchReranked, FindsWhatTheFormulaSays) {
  for (const std::string name : {"apart_candidates", "ties_apart_candidates"}) {
    const GoldenCase golden{"rerank_k_reciprocal", name};
    const auto meta = golden.meta();
    const RerankSteps steps = {
        rerank_step<KReciprocal>({.k1 = meta["k1"],
                                  .k2 = meta["k2"],
                                  .lambda = meta["lambda"],
                                  .candidates = meta["candidates"]})};
    const StoredIndex index = index_of_rows(golden.array("gallery"));
    const Tensor queries = golden.array("queries");
    const auto answers = search_reranked(index, queries, 30, steps);
    const auto plain = index.search(queries, 30);
    for (size_t q = 0; q < answers.size(); ++q) {
      EXPECT_EQ(
          places_of(answers[q]),
          first_by_rank(golden.array("ranks")[static_cast<int64_t>(q)], 30))
          << name << " " << q;
      // The cosine stays with its item.
      for (const SearchHit& hit : answers[q]) {
        const auto same = std::find_if(plain[q].begin(), plain[q].end(),
                                       [&](const SearchHit& other) {
                                         return other.position == hit.position;
                                       });
        ASSERT_NE(same, plain[q].end());
        EXPECT_EQ(hit.similarity, same->similarity);
      }
    }
  }
}

TEST(SearchReranked, ExpandsQueriesAsTheFormulaSays) {
  const GoldenCase golden{"rerank_expansion", "apart_3_3"};
  const StoredIndex index = index_of_rows(golden.array("gallery"));
  const Tensor queries = golden.array("queries");
  const auto answers = search_reranked(index, queries, 10,
                                       {rerank_step<QueryExpansion>({.k = 3})});
  const Tensor cosine = torch::mm(queries, golden.array("gallery").t());
  for (size_t q = 0; q < answers.size(); ++q) {
    const auto row = static_cast<int64_t>(q);
    EXPECT_EQ(places_of(answers[q]),
              first_by_rank(golden.array("query_ranks")[row], 10));
    for (const SearchHit& hit : answers[q]) {
      EXPECT_NEAR(hit.similarity, cosine[row][hit.position].item<float>(),
                  1e-6);
    }
  }
}

class SearchedRows : public ::testing::Test {
 protected:
  Tensor rows_ = normalize_rows(random_normal({90, 6}, 1, at::kFloat));
  Tensor queries_ = normalize_rows(random_normal({12, 6}, 2, at::kFloat));
  RerankSteps steps_ = parse_rerank(
      {"query_expansion:k=3", "k_reciprocal:k1=6,k2=3,candidates=40"}, "test");
};

TEST_F(SearchedRows, AnswersAreTheSameAloneAndTogether) {
  const StoredIndex index = index_of_rows(rows_);
  const auto together = search_reranked(index, queries_, 20, steps_);
  for (int64_t q = 0; q < 12; ++q) {
    const auto alone =
        search_reranked(index, queries_.narrow(0, q, 1), 20, steps_);
    EXPECT_EQ(places_of(alone[0]), places_of(together[static_cast<size_t>(q)]));
  }
}

TEST_F(SearchedRows, RemovedItemsAreNobodysNeighbours) {
  StoredIndex index = index_of_rows(rows_);
  std::vector<std::string> gone;
  for (int64_t i = 60; i < 90; ++i) gone.push_back(std::to_string(i));
  index.remove(gone);
  const auto left = search_reranked(index, queries_, 25, steps_);
  const auto without = search_reranked(index_of_rows(rows_.slice(0, 0, 60)),
                                       queries_, 25, steps_);
  for (size_t q = 0; q < left.size(); ++q) {
    EXPECT_EQ(places_of(left[q]), places_of(without[q]));
  }
}

TEST_F(SearchedRows, OfAClassOnlyItsItemsCount) {
  const StoredIndex index = index_of_rows(rows_);
  const auto even = [](int64_t position) { return position % 2 == 0; };
  const auto found = search_reranked(index, queries_, 20, steps_, even);
  const Tensor own = rows_.slice(0, 0, 90, 2).contiguous();
  const auto alone = search_reranked(index_of_rows(own), queries_, 20, steps_);
  for (size_t q = 0; q < found.size(); ++q) {
    std::vector<int64_t> expected = places_of(alone[q]);
    for (int64_t& place : expected) place *= 2;
    EXPECT_EQ(places_of(found[q]), expected);
  }
}

TEST_F(SearchedRows, FewItemsKeepTheirOrder) {
  const StoredIndex few = index_of_rows(rows_.slice(0, 0, 5));
  const RerankSteps order = parse_rerank({"k_reciprocal"}, "test");
  const auto found = search_reranked(few, queries_, 9, order);
  const auto plain = few.search(queries_, 9);
  for (size_t q = 0; q < found.size(); ++q) {
    EXPECT_EQ(places_of(found[q]), places_of(plain[q]));
  }
  EXPECT_TRUE(search_reranked(index_of_rows(rows_.slice(0, 0, 0)), queries_, 9,
                              steps_)[0]
                  .empty());
}

TEST_F(SearchedRows, MoreThanTheCandidatesFollowAsTheyWere) {
  const StoredIndex index = index_of_rows(rows_);
  const RerankSteps order =
      parse_rerank({"k_reciprocal:k1=6,k2=3,candidates=10"}, "test");
  const auto found = search_reranked(index, queries_, 90, order);
  const auto plain = index.search(queries_, 90);
  for (size_t q = 0; q < found.size(); ++q) {
    ASSERT_EQ(found[q].size(), 90U);
    const std::vector<int64_t> places = places_of(found[q]);
    const std::vector<int64_t> before = places_of(plain[q]);
    EXPECT_TRUE(
        std::equal(places.begin() + 10, places.end(), before.begin() + 10));
    EXPECT_TRUE(std::is_permutation(places.begin(), places.begin() + 10,
                                    before.begin()));
  }
}

TEST_F(SearchedRows, RefusesWhatASearchCannotDo) {
  expect_error<ConfigError>(
      [&] {
        search_reranked(index_of_rows(rows_), queries_, 3,
                        parse_rerank({"database_augmentation"}, "test"));
      },
      "database_augmentation", "for evaluations");
  if (!has_faiss()) return;
  auto codes = std::make_unique<IvfPqIndex>(
      IvfPqOptions{.lists = 2, .subvectors = 3, .bits = 4, .probes = 2},
      VectorIndexInput{6, 1, 90});
  codes->train(rows_);
  codes->add(rows_);
  const StoredIndex index(std::move(codes),
                          std::vector<IndexItem>(90, {"a", "b"}),
                          {"ivf_pq", "", "", {}, {}});
  expect_error<ConfigError>(
      [&] { search_reranked(index, queries_, 3, steps_); }, "ivf_pq",
      "exact or hnsw");
}

}  // namespace
}  // namespace kith
