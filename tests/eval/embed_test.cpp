#include "kith/eval/embed.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/embed_blocks.h"
#include "kith/eval/embedded_split.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

class Embed : public ::testing::Test {
 protected:
  Embed()
      : net_(complete_model(parse_config(
            "{input: {size: 16}, backbone: {name: convnet, width: 4}, "
            "head: {dim: 6}}",
            "test"))) {
    // Statistics of batch norm that are not the initial ones.
    const torch::NoGradGuard no_grad;
    net_.train();
    net_.forward(random_normal({8, 1, 16, 16}, 1, at::kFloat));
  }

  Tensor run(const DataSet& data, const std::vector<int64_t>& indices,
             int64_t batch, int64_t threads = 2) {
    return embed(net_, data, indices, {batch, {threads, 2}}, silent_progress());
  }

  EmbeddedSplit run_split(const DataSet& data, const std::string& protocol,
                          Split split = Split::kTest) {
    const auto made =
        protocol_registry().at(protocol, "").make(ConfigNode::map(), "");
    return embed_split(net_, data, split, *made, {4, {2, 2}},
                       silent_progress());
  }

  EmbeddingNet net_;
};

/// The first numbers, made unit vectors; whatever embeds.
TEST_F(Embed, CutsToTheFirstNumbers) {
  const MemorySet data(paired_items(11, Split::kTest));
  const std::vector<int64_t> images = {3, 0, 7, 10};
  const Tensor whole = run(data, images, 4);
  const Tensor first = whole.slice(1, 0, 2);
  const Tensor expected = first / first.square().sum(1, true).sqrt();
  EmbedOptions options{4, {2, 2}};
  options.descriptor.dim = 2;
  EXPECT_LE(
      max_difference(embed(net_, data, images, options, silent_progress()),
                     expected),
      1e-6);
  EXPECT_EQ(embedding_dim(net_, options), 2);
  Tensor blocks;
  embed_in_blocks(net_, data, images, options, silent_progress(),
                  [&](const Tensor& rows) { blocks = rows; });
  EXPECT_LE(max_difference(blocks, expected), 1e-6);
  options.descriptor.dim = 6;
  EXPECT_LE(max_difference(
                embed(net_, data, images, options, silent_progress()), whole),
            1e-6);
  options.descriptor.dim = 7;
  expect_error<ConfigError>(
      [&] { embed(net_, data, images, options, silent_progress()); },
      "'eval.dim' is 7, but embeddings have 6");
}

TEST_F(Embed, BatchesEqualOneByOneInTheGivenOrder) {
  const MemorySet data(paired_items(11, Split::kTest));
  const std::vector<int64_t> order = {10, 0, 3, 3, 7, 1, 2, 9};
  const Tensor together = run(data, order, 3);
  ASSERT_EQ(together.sizes(), (std::vector<int64_t>{8, 6}));
  EXPECT_EQ(together.scalar_type(), at::kFloat);
  EXPECT_FALSE(together.requires_grad());
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_LE(max_difference(together[static_cast<int64_t>(i)],
                             run(data, {order[i]}, 1)[0]),
              1e-6);
  }
  EXPECT_LE(max_difference(together, run(data, order, 100, 1)), 1e-6);
}

TEST_F(Embed, NamesTheFirstImageWithoutAnEmbedding) {
  const MemorySet data(paired_items(5, Split::kTest));
  const std::string third = data.list().items[3].path;
  const auto broken = [&](const char* name, float value) {
    const torch::NoGradGuard no_grad;
    for (auto& [own, tensor] : net_.state()) {
      if (own.ends_with(name)) tensor.fill_(value);
    }
    return [&] { run(data, {3, 1, 4}, 2); };
  };
  expect_error<RunError>(broken("head.linear.bias", NAN), third, "NaN",
                         "optimizer.lr", "train.clip_norm");
  expect_error<RunError>(broken("head.linear.bias", INFINITY), third,
                         "infinite");
  broken("head.linear.weight", 0);
  expect_error<RunError>(broken("head.linear.bias", 0), third, "all zero",
                         "direction");
  EXPECT_THROW(run_split(data, "standard"), RunError);
}

TEST_F(Embed, FindsBrokenStatistics) {
  const MemorySet data(paired_items(5, Split::kTest));
  const torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : net_.state()) {
    if (name.ends_with("running_mean")) tensor[0] = NAN;
  }
  EXPECT_THROW(run(data, {0, 1}, 2), RunError);
}

TEST_F(Embed, LeavesTheModeAndTheStatisticsAsTheyWere) {
  const MemorySet data(paired_items(4, Split::kTest));
  const std::vector<Tensor> buffers = net_.buffers();
  std::vector<Tensor> before;
  for (const Tensor& buffer : buffers) before.push_back(buffer.clone());
  for (const bool training : {true, false}) {
    net_.train(training);
    run(data, {0, 1, 2, 3}, 2);
    EXPECT_EQ(net_.is_training(), training);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_TRUE(torch::equal(buffers[i], before[i]));
  }
}

TEST_F(Embed, StandardProtocolSearchesTheSplitAmongItself) {
  std::vector<Item> items = paired_items(4, Split::kTrain);
  const std::vector<Item> test = paired_items(6, Split::kTest);
  items.insert(items.end(), test.begin(), test.end());
  const EmbeddedSplit split = run_split(MemorySet(items), "standard");
  ASSERT_EQ(split.tasks.size(), 1u);
  const Scored scored = split.scored(split.tasks[0]);
  const std::vector<int64_t> all = {4, 5, 6, 7, 8, 9};
  EXPECT_EQ(split.rows_of, all);
  EXPECT_EQ(split.tasks[0].queries, all);
  EXPECT_TRUE(torch::equal(scored.self, torch::arange(6, torch::kLong)));
  EXPECT_TRUE(torch::equal(scored.query_labels, labels_of({0, 0, 1, 1, 2, 2})));
  EXPECT_LE(max_difference(split.embeddings.norm(2, 1), torch::ones({6})),
            1e-6);
}

TEST_F(Embed, QueryGalleryProtocolFindsQueriesThatAreAlsoInTheGallery) {
  std::vector<Item> items = paired_items(6, Split::kTest);
  for (Item& item : items) item.is_query = item.is_gallery = false;
  items[1].is_query = items[4].is_query = items[5].is_query = true;
  items[0].is_gallery = items[2].is_gallery = items[5].is_gallery = true;
  MemorySet data(items);
  expect_error<DataError>([&] { run_split(data, "query_gallery"); }, "is_query",
                          "is_gallery");
  data.use_query_gallery();
  const EmbeddedSplit split = run_split(data, "query_gallery");
  ASSERT_EQ(split.tasks.size(), 1u);
  const Scored scored = split.scored(split.tasks[0]);
  EXPECT_EQ(split.rows_of, (std::vector<int64_t>{0, 1, 2, 4, 5}));
  EXPECT_TRUE(torch::equal(scored.self, labels_of({-1, -1, 2})));
  EXPECT_TRUE(torch::equal(scored.query_labels, labels_of({0, 2, 2})));
  EXPECT_TRUE(torch::equal(scored.gallery_labels, labels_of({0, 1, 2})));
  const Tensor rows = split.embeddings;
  EXPECT_TRUE(torch::equal(scored.queries.in_memory(),
                           rows.index_select(0, labels_of({1, 3, 4}))));
  EXPECT_TRUE(torch::equal(scored.gallery.in_memory(),
                           rows.index_select(0, labels_of({0, 2, 4}))));
}

TEST_F(Embed, AnEmptySplitIsAnError) {
  const MemorySet data(paired_items(4, Split::kTrain));
  expect_error<DataError>([&] { run_split(data, "standard"); }, "test split",
                          "no queries");
  std::vector<Item> items = paired_items(4, Split::kTest);
  for (Item& item : items) item.is_gallery = false;
  MemorySet queries_only(items);
  queries_only.use_query_gallery();
  expect_error<DataError>([&] { run_split(queries_only, "query_gallery"); },
                          "empty gallery");
}

}  // namespace
}  // namespace kith
