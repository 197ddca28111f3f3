#include "kith/eval/similarity_histogram.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/tensor_io.h"
#include "tests/eval/sets.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr int64_t kBins = 8;

/// Products are multiples of a quarter, exact, and some beyond 1.
Tensor quarter_rows(int64_t count, uint64_t seed) {
  return random_integers({count, 3}, 2, seed) / 2;
}

Tensor four_labels(int64_t count, uint64_t seed) {
  return random_permutation(count, seed) % 4;
}

/// Every pair in turn, with the definitions written out.
SimilarityCounts reference(const Scored& s, int64_t& excluded) {
  SimilarityCounts counts{std::vector<int64_t>(kBins),
                          std::vector<int64_t>(kBins), s.queries.count()};
  const Tensor queries = s.queries.in_memory();
  const Tensor gallery = s.gallery.defined() ? s.gallery.in_memory() : queries;
  const Tensor& labels =
      s.gallery.defined() ? s.gallery_labels : s.query_labels;
  const Tensor products = torch::mm(queries, gallery.t());
  for (int64_t q = 0; q < queries.size(0); ++q) {
    int64_t self = s.gallery.defined() ? -1 : q;
    if (s.self.defined()) self = s.self[q].item<int64_t>();
    const auto place = static_cast<size_t>(q);
    for (int64_t g = 0; g < gallery.size(0); ++g) {
      if (g == self || (!s.lists.empty() && holds(s.lists.junk[place], g))) {
        ++excluded;
        continue;
      }
      const bool positive =
          s.lists.empty()
              ? labels[g].item<int64_t>() == s.query_labels[q].item<int64_t>()
              : holds(s.lists.positives[place], g);
      const auto value = products[q][g].item<double>();
      size_t bin = 0;
      while (bin + 1 < kBins &&
             value >= -1 + 2.0 * static_cast<double>(bin + 1) / kBins) {
        ++bin;
      }
      ++(positive ? counts.positive : counts.negative)[bin];
    }
  }
  return counts;
}

int64_t sum(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

void expect_counts(const Scored& s) {
  int64_t excluded = 0;
  const SimilarityCounts wanted = reference(s, excluded);
  const SimilarityCounts found = similarity_counts(s, kBins, 1000, 1);
  EXPECT_EQ(found.positive, wanted.positive);
  EXPECT_EQ(found.negative, wanted.negative);
  EXPECT_EQ(found.queries, s.queries.count());
  const Rows& gallery = s.gallery.defined() ? s.gallery : s.queries;
  EXPECT_EQ(sum(found.positive) + sum(found.negative) + excluded,
            s.queries.count() * gallery.count());
}

TEST(SimilarityHistogram, EqualsALoopOverAllPairs) {
  expect_counts({quarter_rows(40, 1), four_labels(40, 1), {}, {}, {}});
}

TEST(SimilarityHistogram, LeavesOutQueriesThatAreInTheGallery) {
  const Tensor gallery = quarter_rows(30, 2);
  Tensor self = torch::full({12}, -1, torch::kLong);
  self[3] = 29;
  self[4] = 0;
  expect_counts({quarter_rows(12, 3), four_labels(12, 3), gallery,
                 four_labels(30, 2), self});
}

TEST(SimilarityHistogram, HonoursListsAndJunk) {
  Scored s{quarter_rows(3, 4), {}, quarter_rows(20, 5), {}, {}};
  s.lists.positives = {{3, 17, 5}, {}, {0, 19}};
  s.lists.junk = {{4, 6}, {1, 2, 3}, {}};
  expect_counts(s);
}

TEST(SimilarityHistogram, HasNoPositivesWhereNoneAre) {
  const Scored s{
      quarter_rows(5, 6), torch::arange(5, torch::kLong), {}, {}, {}};
  const SimilarityCounts found = similarity_counts(s, kBins, 100, 0);
  EXPECT_EQ(sum(found.positive), 0);
  EXPECT_EQ(sum(found.negative), 20);
}

TEST(SimilarityHistogram, DrawsQueriesWithTheSeed) {
  const Scored s{quarter_rows(300, 7), four_labels(300, 7), {}, {}, {}};
  const SimilarityCounts some = similarity_counts(s, kBins, 20, 5);
  EXPECT_EQ(some.queries, 20);
  EXPECT_EQ(sum(some.positive), 20 * 74);  // classes of 75
  EXPECT_EQ(sum(some.negative), 20 * 225);
  EXPECT_EQ(similarity_counts(s, kBins, 20, 5).negative, some.negative);
  EXPECT_NE(similarity_counts(s, kBins, 20, 6).negative, some.negative);
}

TEST(SimilarityHistogram, CountsInSeveralBlocksOfAFile) {
  const TempDir folder;
  const std::string path = folder.file("rows.npy");
  // 1 MiB holds 128 items of this length at a time.
  save_npy(path, random_normal({300, 384}, 8, at::kFloat));
  const Tensor labels = four_labels(300, 8);
  const Scored file{unit_rows(path, 0, at::kCPU), labels, {}, {}, {}};
  ASSERT_FALSE(file.queries.in_memory().defined());
  const Scored memory{unit_rows(path, 64, at::kCPU), labels, {}, {}, {}};
  const SimilarityCounts a = similarity_counts(file, 1, 1000, 0, 1);
  const SimilarityCounts b = similarity_counts(memory, 1, 1000, 0);
  EXPECT_EQ(a.positive, b.positive);
  EXPECT_EQ(a.negative, b.negative);
  EXPECT_EQ(a.positive[0] + a.negative[0], 300 * 299);
}

TEST(SimilarityHistogram, RefusesWhatIsNoNumber) {
  Tensor rows = quarter_rows(4, 9);
  rows[2].fill_(std::numeric_limits<float>::quiet_NaN());
  const Scored s{rows, torch::zeros({4}, torch::kLong), {}, {}, {}};
  expect_error<DataError>([&] { similarity_counts(s, kBins, 10, 0); },
                          "query 2", "NaN");
}

}  // namespace
}  // namespace kith
