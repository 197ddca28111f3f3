#include "kith/serve/search_service.h"

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "kith/index/search_reranked.h"
#include "kith/serve/embed_queries.h"
#include "tests/serve/small_index.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

SharedIndex shared(const SmallIndex& small) {
  return std::make_shared<const StoredIndex>(small.index());
}

TEST(EmbedQueries, AreWhatEvaluationGivesInBatchesAndOneByOne) {
  DescriptorOptions several;
  several.scales = {1, 0.5};
  several.flip = true;
  DescriptorOptions whole;
  whole.long_side = 40;
  DescriptorOptions cut = several;
  cut.dim = 4;
  for (const DescriptorOptions& descriptor :
       {DescriptorOptions{}, several, whole, cut}) {
    const SmallIndex small(descriptor);
    const Tensor expected = small.embeddings();
    const auto net = SmallIndex::net();
    ReplayedForward network(*net);
    std::vector<std::vector<Image>> all;
    for (int64_t i = 0; i < SmallIndex::kCount; ++i) {
      all.push_back(
          make_pictures(SmallIndex::picture(i), net->input(), descriptor));
      std::vector<std::vector<Image>> one = {all.back()};
      EXPECT_LE(max_difference(embed_queries(network, one, descriptor, 8)[0],
                               expected[i]),
                1e-6);
    }
    EXPECT_LE(
        max_difference(embed_queries(network, all, descriptor, 8), expected),
        1e-6);
  }
}

TEST(SearchService, OrdersWhatItFindsAnew) {
  const SmallIndex small;
  ServiceOptions options;
  options.rerank = parse_rerank({"k_reciprocal:k1=3,k2=2"}, "test");
  SearchService service(SmallIndex::net(), options);
  SearchService plain(SmallIndex::net(), {});
  const auto index = shared(small);
  const Tensor vectors = small.embeddings();
  int64_t moved = 0;
  for (int64_t i = 0; i < SmallIndex::kCount; ++i) {
    const auto hits = service.search(index, SmallIndex::picture(i), 12, "");
    const auto expected =
        search_reranked(*index, vectors.narrow(0, i, 1), 12, options.rerank)[0];
    ASSERT_EQ(hits.size(), expected.size());
    const auto usual = plain.search(index, SmallIndex::picture(i), 12, "");
    for (size_t j = 0; j < hits.size(); ++j) {
      EXPECT_EQ(hits[j].position, expected[j].position);
      moved += hits[j].position != usual[j].position;
    }
    // Without itself, and of one class.
    for (const SearchHit& hit : service.search_item(index, {i}, 12, "odd")) {
      EXPECT_NE(hit.position, i);
      EXPECT_EQ(hit.position % 2, 1);
    }
    EXPECT_EQ(service.search_item(index, {i}, 12, "").size(), 11U);
  }
  EXPECT_GT(moved, 0);
}

TEST(SearchService, RefusesAnIndexThatCannotBeReranked) {
  const SmallIndex small;
  ServiceOptions options;
  options.rerank = parse_rerank({"database_augmentation"}, "test");
  const SearchService service(SmallIndex::net(), options);
  expect_error<ConfigError>([&] { service.check_fits(small.index()); },
                            "for evaluations");
}

TEST(SearchService, FindsAPictureAndItsItemsNeighbours) {
  const SmallIndex small;
  SearchService service(SmallIndex::net(), {});
  const auto index = shared(small);
  for (int64_t i = 0; i < SmallIndex::kCount; ++i) {
    const auto hits = service.search(index, SmallIndex::picture(i), 3, "");
    ASSERT_EQ(hits.size(), 3U);
    EXPECT_EQ(hits[0].position, i);
    EXPECT_NEAR(hits[0].similarity, 1, 1e-5);
    const auto similar = service.search_item(index, {i}, 2, "");
    ASSERT_EQ(similar.size(), 2U);
    EXPECT_EQ(similar[0].position, hits[1].position);
    EXPECT_EQ(similar[1].position, hits[2].position);
  }
  const auto odd = service.search(index, SmallIndex::picture(4), 100, "odd");
  EXPECT_EQ(odd.size(), 6U);
  for (const SearchHit& hit : odd) EXPECT_EQ(hit.position % 2, 1);
  EXPECT_EQ(service.search_item(index, {3}, 100, "odd").size(), 5U);
  EXPECT_EQ(service.search_item(index, {3}, 100, "").size(), 11U);
}

TEST(SearchService, GathersRequestsOfManyThreads) {
  const SmallIndex small;
  ServiceOptions options;
  options.batch = 4;
  options.wait_ms = 200;
  SearchService service(SmallIndex::net(), options);
  const auto index = shared(small);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int64_t i = 0; i < SmallIndex::kCount; ++i) {
    threads.emplace_back([&service, &index, &right, i] {
      const auto hits =
          service.search(index, SmallIndex::picture(i), 1 + i % 3, "");
      if (hits.at(0).position == i &&
          hits.size() == static_cast<size_t>(1 + i % 3)) {
        ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, SmallIndex::kCount);
  EXPECT_EQ(service.stats().queued, 0);
  EXPECT_EQ(service.stats().batches.sum, SmallIndex::kCount);
  // Of at most four; fewer than one each.
  EXPECT_GE(service.stats().batches.counts[2], 1);
}

TEST(SearchService, RefusesWhatDoesNotFitTheQueueAndWhenItStops) {
  const SmallIndex small;
  ServiceOptions options;
  options.batch = 3;
  options.queue = 2;
  options.wait_ms = 60'000;  // never full: all of it waits
  SearchService service(SmallIndex::net(), options);
  const auto index = shared(small);
  std::promise<void> first;
  std::promise<void> second;
  const auto keep = [](std::promise<void>& promise) {
    return [&promise](const std::vector<SearchHit>&,
                      const std::exception_ptr& error) {
      promise.set_exception(error);
    };
  };
  service.submit_item(index, {0}, 1, "", keep(first));
  service.submit(index, SmallIndex::picture(0), 1, "", keep(second));
  expect_error<BusyError>([&] { service.search_item(index, {1}, 1, ""); }, "2");
  service.stop();
  expect_error<BusyError>([&] { first.get_future().get(); }, "stop");
  expect_error<BusyError>([&] { second.get_future().get(); }, "stop");
  expect_error<BusyError>([&] { service.search_item(index, {1}, 1, ""); },
                          "stopped");
}

TEST(SearchService, RefusesPicturesThatTakeTooMuchWhileTheyWait) {
  const SmallIndex small;
  ServiceOptions options;
  options.batch = 10;
  options.wait_ms = 60'000;  // never full: all of it waits
  // Two and no more, though the queue is longer.
  const auto net = SmallIndex::net();
  const std::vector<Image> pictures =
      make_pictures(SmallIndex::picture(0), net->input(), options.descriptor);
  options.queue_bytes = static_cast<int64_t>(2 * pictures.at(0).pixels.size());
  SearchService service(SmallIndex::net(), options);
  const auto index = shared(small);
  const auto drop = [](const std::vector<SearchHit>&,
                       const std::exception_ptr&) {};
  service.submit(index, SmallIndex::picture(0), 1, "", drop);
  service.submit(index, SmallIndex::picture(1), 1, "", drop);
  expect_error<BusyError>(
      [&] { service.submit(index, SmallIndex::picture(2), 1, "", drop); },
      "pictures of the searches that wait",
      std::to_string(options.queue_bytes));
  service.submit_item(index, {3}, 1, "", drop);  // has a vector, no picture
  EXPECT_EQ(service.stats().queued, 3);
  service.stop();
}

TEST(SearchService, HasPlaceAgainWhenPicturesAreTaken) {
  const SmallIndex small;
  ServiceOptions options;
  options.queue_bytes = 1;  // one at a time
  options.wait_ms = 0;
  SearchService service(SmallIndex::net(), options);
  const auto index = shared(small);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(
        service.search(index, SmallIndex::picture(i), 1, "").at(0).position, i);
  }
}

TEST(SearchService, SearchesSeveralIndexesWithOneModel) {
  const SmallIndex small;
  SearchService service(SmallIndex::net(), {});
  const auto whole = shared(small);
  StoredIndex less = small.index();
  less.remove({small.paths()[4]});
  const auto part = std::make_shared<const StoredIndex>(std::move(less));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&, i] {
      const auto hits = service.search(i % 2 == 0 ? whole : part,
                                       SmallIndex::picture(4), 1, "");
      right += (hits.at(0).position == 4) == (i % 2 == 0) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
}

TEST(SearchService, EmbedsAsAnIndexIsMade) {
  const SmallIndex small;
  SearchService service(SmallIndex::net(), {});
  std::promise<Tensor> made;
  service.embed(SmallIndex::picture(3),
                [&made](const Tensor& vector, const std::exception_ptr&) {
                  made.set_value(vector);
                });
  EXPECT_LE(max_difference(made.get_future().get(), small.embeddings()[3]),
            1e-6);
}

TEST(SearchService, RefusesAModelOfAnotherDimension) {
  const SmallIndex small;
  auto other = std::make_unique<EmbeddingNet>(complete_model(
      parse_config("{input: {size: 16}, backbone: {name: convnet, width: 4}, "
                   "head: {dim: 8}}",
                   "test")));
  const SearchService service(std::move(other), {});
  expect_error<ConfigError>([&] { service.check_fits(small.index()); }, "8",
                            "6");
}

}  // namespace
}  // namespace kith
