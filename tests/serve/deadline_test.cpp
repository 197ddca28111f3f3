#include "kith/serve/deadline.h"

#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace kith {
namespace {

Deadline in_ms(int64_t milliseconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::milliseconds(milliseconds);
}

TEST(CallUntil, ReturnsAndThrowsWhatTheWorkDoes) {
  EXPECT_EQ(call_until<int>(kNoDeadline, [] { return 3; }), 3);
  EXPECT_EQ(call_until<std::string>(in_ms(10'000), [] { return "x"; }), "x");
  expect_error<DataError>(
      [] {
        call_until<int>(in_ms(10'000),
                        []() -> int { throw DataError("a.png: damaged"); });
      },
      "a.png: damaged");
  const auto here = std::this_thread::get_id();
  EXPECT_NE(call_until<std::thread::id>(
                kNoDeadline, [] { return std::this_thread::get_id(); }),
            here);
}

TEST(CallUntil, GivesUpWhatHangs) {
  const auto gate = std::make_shared<std::promise<void>>();
  const std::shared_future<void> opens = gate->get_future().share();
  const auto hang = [opens] {
    opens.wait();
    return 1;
  };
  expect_error<BusyError>([&] { call_until<int>(in_ms(20), hang); },
                          "given up");
  EXPECT_EQ(hanging_calls(), 1);
  // Others are not held up.
  EXPECT_EQ(call_until<int>(in_ms(10'000), [] { return 2; }), 2);
  for (int64_t i = 1; i < kMostHangingCalls; ++i) {
    EXPECT_THROW(call_until<int>(in_ms(1), hang), BusyError);
  }
  expect_error<BusyError>(
      [] { call_until<int>(in_ms(10'000), [] { return 2; }); }, "hang");
  gate->set_value();
  for (int i = 0; i < 1000 && hanging_calls() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(hanging_calls(), 0);
  EXPECT_EQ(call_until<int>(in_ms(10'000), [] { return 2; }), 2);
}

TEST(CallUntil, TakesManyAtATime) {
  std::vector<std::thread> threads;
  std::atomic<int> sum = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&sum, i] {
      for (int j = 0; j < 200; ++j) {
        sum += call_until<int>(in_ms(10'000), [i] { return i; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 200 * 28);
  EXPECT_EQ(hanging_calls(), 0);
}

}  // namespace
}  // namespace kith
