#include "kith/serve/served_index.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "kith/serve/index_watch.h"
#include "tests/serve/served_files.h"
#include "tests/support/log_capture.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Look = ServedIndex::Look;

/// Until something is so, for at most ten seconds.
template <class Condition>
bool wait_until(const Condition& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

TEST_F(ServedFilesTest, TakesAnIndexThatHasChanged) {
  const LogCapture log;
  const auto before = index().now();
  index().look(Look::kIfNew);
  EXPECT_EQ(index().now(), before);  // it has not
  remove_on_disk(small_.paths()[3]);
  EXPECT_EQ(index().now()->index->size(), 12);
  index().look(Look::kIfNew);
  EXPECT_EQ(index().now()->index->size(), 11);
  EXPECT_EQ(index().now()->classes.at("odd"), 5);
  EXPECT_THAT(log.notes(), ElementsAre(HasSubstr("11 items, 12 before")));
  // Whoever began with the old one goes on with it.
  EXPECT_EQ(before->index->size(), 12);
  EXPECT_TRUE(before->has_item(3));
  EXPECT_FALSE(index().now()->has_item(3));
  EXPECT_EQ(index().stats().reloads, 1);
}

TEST_F(ServedFilesTest, KeepsTheOldOneWhileTheNewOneIsBroken) {
  const LogCapture log;
  const std::string good = read_file(record_path(path_), 1 << 20);
  write_file_atomically(record_path(path_), good.substr(0, good.size() / 2));
  for (int i = 0; i < 3; ++i) index().look(Look::kIfNew);
  EXPECT_EQ(index().now()->index->size(), 12);
  EXPECT_TRUE(index().stats().is_stale);
  EXPECT_EQ(index().stats().failed_reloads, 1);  // it waits before it tries
  EXPECT_THAT(log.warnings(), ElementsAre(::testing::AllOf(
                                  HasSubstr(path_), HasSubstr("still is"),
                                  HasSubstr("damaged"))));
  std::filesystem::remove(record_path(path_));
  index().look(Look::kIfNew);
  EXPECT_THAT(log.warnings().back(), HasSubstr("is gone"));
  write_file_atomically(record_path(path_), good);
  index().look(Look::kIfNew);
  EXPECT_FALSE(index().stats().is_stale);
  EXPECT_EQ(log.warnings().size(), 2U);
}

TEST_F(ServedFilesTest, TriesAgainWhatWasHalfCopied) {
  const LogCapture log;
  const std::string whole = read_file(path_, 1 << 20);
  // The record came first; it stays the same while the vectors come.
  write_file_atomically(path_, whole.substr(0, whole.size() / 2));
  write_file_atomically(record_path(path_),
                        read_file(record_path(path_), 1 << 20));
  {
    const IndexWatch watch(indexes_, 0.01);
    ASSERT_TRUE(wait_until([&] { return index().stats().is_stale; }));
    write_file_atomically(path_, whole);
    EXPECT_TRUE(wait_until([&] { return !index().stats().is_stale; }));
  }
  EXPECT_EQ(log.warnings().size(), 1U);
}

TEST_F(ServedFilesTest, RefusesAnIndexOfAnotherModel) {
  indexes_.clear();
  const auto save = [&](const std::string& hash, int64_t dim) {
    auto vectors = std::make_unique<ExactIndex>(dim);
    vectors->add(normalize_rows(torch::randn({3, dim})));
    IndexInfo info;
    info.kind = "exact";
    info.model = "runs/other";
    info.model_hash = hash;
    StoredIndex(std::move(vectors),
                ItemTable({{"a", ""}, {"b", ""}, {"c", ""}}), info)
        .save(path_);
  };
  save("1234", 6);
  ServedIndex served({.name = "x", .path = path_, .model_hash = "1234"},
                     StoredIndex::open(path_), file_mark(record_path(path_)),
                     service_);
  const LogCapture log;
  save("5678", 6);
  served.look(Look::kIfNew);
  EXPECT_THAT(log.warnings().back(), HasSubstr("runs/other"));
  EXPECT_THAT(log.warnings().back(), HasSubstr("start the server again"));
  save("1234", 8);
  served.look(Look::kIfNew);
  EXPECT_THAT(log.warnings().back(), HasSubstr("dimensions"));
  EXPECT_EQ(served.now()->index->dim(), 6);
  save("1234", 6);
  served.look(Look::kIfNew);
  EXPECT_FALSE(served.stats().is_stale);
  EXPECT_EQ(log.warnings().size(), 2U);
}

TEST_F(ServedFilesTest, IsWatched) {
  IndexWatch watch(indexes_, 0.01);
  remove_on_disk(small_.paths()[1]);
  EXPECT_TRUE(wait_until([&] { return index().now()->index->size() == 11; }));
  const int64_t before = index().stats().reloads;
  watch.reload();
  EXPECT_TRUE(wait_until([&] { return index().stats().reloads > before; }));
}

TEST_F(ServedFilesTest, FailsNoRequestWhileItChanges) {
  Routes routes(indexes_, metrics_, {});
  const IndexWatch watch(indexes_, 0.001);
  std::atomic<bool> is_over = false;
  std::atomic<int> asked = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&, i] {
      while (!is_over) {
        HttpRequest request;
        request.method = i == 0 ? "POST" : "GET";
        request.target = i == 0   ? "/api/search?k=3"
                         : i == 1 ? "/api/items/11/similar?k=3"
                                  : "/api/items/any";
        if (i == 0) request.body = png(5);
        ++asked;
        if (ask_of(routes, request).status != 200) ++failed;
      }
    });
  }
  for (int i = 0; i < 10; ++i) {  // but for item 11
    remove_on_disk(small_.paths()[static_cast<size_t>(i)]);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(wait_until([&] { return index().now()->index->size() == 2; }));
  is_over = true;
  for (std::thread& client : clients) client.join();
  EXPECT_GT(asked, 30);
  EXPECT_EQ(failed, 0);
  EXPECT_GE(index().stats().reloads, 2);
}

}  // namespace
}  // namespace kith
