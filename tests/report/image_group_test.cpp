#include "kith/report/image_group.h"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/embedded_set.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Six classes of five.
std::vector<int64_t> labels() {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < 30; ++i) result.push_back(10 + i / 5);
  return result;
}

/// Unit vectors, the nearer to their class's the less noise there is.
Tensor rows_with(double noise) {
  const Tensor centres = random_normal({6, 8}, 1, at::kFloat);
  return normalize_rows(centres.repeat_interleave(5, 0) +
                        noise * random_normal({30, 8}, 2, at::kFloat));
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

class Look : public ::testing::Test {
 protected:
  const GlyphList data_{labels()};
  const GlyphList shifted_{labels(), 3};
  EmbeddedRun bad_{&data_, embedded(rows_with(2), labels()), {}};
  EmbeddedRun good_{&shifted_, embedded(rows_with(0.3), labels(), 3), {}};
};

TEST_F(Look, FillsWhatEmbeddingsShow) {
  InsightOptions options;
  options.scatter_points = 20;
  const ImageGroup group = make_image_group({&bad_, &good_}, options);
  EXPECT_EQ(group.runs, (std::vector<size_t>{0, 1}));
  ASSERT_EQ(group.examples.size(), 3U);
  EXPECT_EQ(group.scatter_items.size(), 20U);
  EXPECT_EQ(group.scatter_sheet.cell, 48);
  for (const EmbeddedRun* run : {&bad_, &good_}) {
    const RunInsight& insight = run->insight;
    EXPECT_EQ(insight.missing, "");
    EXPECT_EQ(insight.similarities.positive.size(), 80U);
    EXPECT_EQ(insight.similarities.positive_pairs, 30 * 4);
    EXPECT_EQ(insight.similarities.negative_pairs, 30 * 25);
    EXPECT_NEAR(sum(insight.similarities.positive), 1, 1e-12);
    EXPECT_NEAR(sum(insight.similarities.negative), 1, 1e-12);
    EXPECT_EQ(insight.similarities.queries, 30);
    EXPECT_EQ(insight.similarities.all_queries, 30);
    EXPECT_EQ(insight.spectrum.size(), 8U);
    EXPECT_NEAR(sum(insight.spectrum), 1, 1e-12);
    EXPECT_EQ(insight.classes.size(), 6U);
    EXPECT_EQ(insight.scatter.points.size(), 20U);
  }
  EXPECT_FALSE(bad_.insight.confused.empty());
  EXPECT_GT(good_.insight.classes[0].recall, 0.9);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(bad_.insight.scatter.points[i].class_number,
              good_.insight.scatter.points[i].class_number);
  }
}

TEST_F(Look, PlacesAreInTheAlbum) {
  const ImageGroup group = make_image_group({&bad_, &good_}, {});
  const size_t pictures = group.album.pictures.size();
  EXPECT_LE(pictures, 30U);
  for (const ExampleSet& set : group.examples) {
    for (const ExampleQuery& query : set.queries) {
      ASSERT_LT(query.picture, pictures);
      const std::string& label = group.album.pictures[query.picture].label;
      ASSERT_EQ(query.results.size(), 2U);
      for (const QueryResult& result : query.results) {
        for (const FoundItem& item : result.found) {
          ASSERT_LT(item.picture, pictures);
          EXPECT_NE(item.picture, query.picture);
          EXPECT_EQ(item.right,
                    group.album.pictures[item.picture].label == label);
        }
      }
    }
  }
  for (const ConfusedClasses& pair : bad_.insight.confused) {
    EXPECT_EQ(group.album.pictures[pair.from_picture].label, pair.from);
    EXPECT_EQ(group.album.pictures[pair.to_picture].label, pair.to);
  }
}

TEST_F(Look, OneRunHasNoImprovement) {
  EXPECT_EQ(make_image_group({&bad_}, {}).examples.size(), 2U);
}

TEST_F(Look, KnowsNoClassesWhereListsSayWhatIsRight) {
  RelevanceLists& lists = bad_.split.tasks[0].lists;
  lists.positives.resize(30);
  lists.junk.resize(30);
  lists.positives[4] = {7};
  bad_.split.tasks[0].name = "easy";
  make_image_group({&bad_}, {});
  EXPECT_EQ(bad_.insight.task, "easy");
  EXPECT_TRUE(bad_.insight.classes.empty());
  EXPECT_TRUE(bad_.insight.confused.empty());
  EXPECT_EQ(bad_.insight.similarities.positive_pairs, 1);
}

TEST_F(Look, SameImagesAreSoByPathAndLabel) {
  EXPECT_TRUE(same_images(bad_, good_));
  std::vector<int64_t> others = labels();
  others.back() = 10;
  const GlyphList other(others);
  const EmbeddedRun relabelled{&other, embedded(rows_with(1), others), {}};
  EXPECT_FALSE(same_images(bad_, relabelled));
  EmbeddedRun fewer = bad_;
  fewer.split.tasks[0].gallery.pop_back();
  EXPECT_FALSE(same_images(bad_, fewer));
}

TEST_F(Look, RefusesEmbeddingsThatAreNotFinite) {
  bad_.split.embeddings[3][1] = std::numeric_limits<float>::quiet_NaN();
  expect_error<DataError>([&] { make_image_group({&bad_}, {}); }, "3", "NaN");
}

TEST_F(Look, CudaGivesWhatTheCpuGives) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  EmbeddedRun on_gpu{&data_, bad_.split, {}};
  on_gpu.split.embeddings = on_gpu.split.embeddings.cuda();
  const ImageGroup here = make_image_group({&bad_}, {});
  const ImageGroup there = make_image_group({&on_gpu}, {});
  ASSERT_EQ(there.examples.size(), here.examples.size());
  for (size_t g = 0; g < here.examples.size(); ++g) {
    const std::vector<ExampleQuery>& wanted = here.examples[g].queries;
    ASSERT_EQ(there.examples[g].queries.size(), wanted.size());
    for (size_t q = 0; q < wanted.size(); ++q) {
      const QueryResult& result = there.examples[g].queries[q].results[0];
      EXPECT_EQ(result.first_right, wanted[q].results[0].first_right);
      EXPECT_EQ(result.found.size(), wanted[q].results[0].found.size());
    }
  }
  const RunInsight& a = bad_.insight;
  const RunInsight& b = on_gpu.insight;
  EXPECT_EQ(b.similarities.positive_pairs, a.similarities.positive_pairs);
  ASSERT_EQ(b.spectrum.size(), a.spectrum.size());
  for (size_t i = 0; i < a.spectrum.size(); ++i) {
    EXPECT_NEAR(b.spectrum[i], a.spectrum[i], 1e-5);
  }
  ASSERT_EQ(b.scatter.points.size(), a.scatter.points.size());
  for (size_t i = 0; i < a.scatter.points.size(); ++i) {
    EXPECT_NEAR(b.scatter.points[i].x, a.scatter.points[i].x, 1e-4);
    EXPECT_NEAR(b.scatter.points[i].y, a.scatter.points[i].y, 1e-4);
  }
}

}  // namespace
}  // namespace kith
