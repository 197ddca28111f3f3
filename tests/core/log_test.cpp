#include "kith/core/log.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/log_capture.h"

namespace kith {
namespace {

TEST(Log, ReachesTheSinkWithItsLevel) {
  const LogCapture log;
  log_info("a note");
  log_warning("a warning");
  EXPECT_EQ(log.notes(), std::vector<std::string>{"a note"});
  EXPECT_EQ(log.warnings(), std::vector<std::string>{"a warning"});
}

TEST(Log, WithoutASinkIsDropped) {
  { const LogCapture log; }
  log_info("nobody listens");
  log_warning("nobody listens");
}

TEST(Log, SinkIsCalledByOneThreadAtATime) {
  constexpr size_t kThreads = 4;
  constexpr size_t kMessages = 500;
  const LogCapture log;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (size_t i = 0; i < kMessages; ++i) {
        log_info(std::to_string(t) + " " + std::to_string(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log.notes().size(), kThreads * kMessages);
}

TEST(Log, SinkCanBeReplacedWhileOthersLog) {
  std::thread writer([] {
    for (int i = 0; i < 1000; ++i) log_info("x");
  });
  for (int i = 0; i < 100; ++i) {
    const LogCapture log;
  }
  writer.join();
}

}  // namespace
}  // namespace kith
