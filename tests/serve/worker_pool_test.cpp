#include "kith/serve/worker_pool.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

namespace kith {
namespace {

TEST(WorkerPool, RefusesWhatDoesNotFitAndDropsItWhenItStops) {
  WorkerPool pool(1, 2);
  std::promise<void> started;
  std::promise<void> go_on;
  std::atomic<int> done = 0;
  EXPECT_TRUE(pool.post([&] {
    started.set_value();
    go_on.get_future().wait();
    ++done;
  }));
  started.get_future().wait();
  EXPECT_TRUE(pool.post([&] { ++done; }));
  EXPECT_TRUE(pool.post([&] { ++done; }));
  EXPECT_FALSE(pool.post([&] { ++done; }));
  go_on.set_value();
  std::promise<void> last;
  while (!pool.post([&] { last.set_value(); })) std::this_thread::yield();
  last.get_future().wait();
  EXPECT_EQ(done, 3);
  pool.stop();
  EXPECT_FALSE(pool.post([] {}));
}

}  // namespace
}  // namespace kith
