#include "kith/study/processes.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

ProcessEnd wait_for_one(ProcessPool& pool) {
  for (;;) {
    if (const auto end = pool.poll()) return *end;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::vector<std::string> shell(const std::string& text) {
  return {"/bin/sh", "-c", text};
}

TEST(ProcessPool, TellsHowProcessesEndAndKeepsTheirOutput) {
  const TempDir folder;
  const std::string log = folder.file("log");
  ProcessPool pool;
  pool.start("good", shell("echo out; echo err >&2; test -z \"$(cat)\""), log);
  const ProcessEnd good = wait_for_one(pool);
  EXPECT_TRUE(good.succeeded());
  EXPECT_EQ(good.name, "good");
  EXPECT_EQ(read_file(log, 100), "out\nerr\n");

  pool.start("bad", shell("exit 3"), log);
  EXPECT_EQ(wait_for_one(pool).text(), "exit status 3");
  pool.start("killed", shell("kill -9 $$"), log);
  const ProcessEnd killed = wait_for_one(pool);
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_FALSE(killed.succeeded());
  EXPECT_EQ(pool.size(), 0u);
}

TEST(ProcessPool, TellsChildrenWhoTheirParentIs) {
  const TempDir folder;
  ProcessPool pool;
  pool.start("a", shell("test $KITH_PARENT = $PPID"), folder.file("log"));
  EXPECT_TRUE(wait_for_one(pool).succeeded());
}

TEST(ProcessPool, StopsWhatRuns) {
  const TempDir folder;
  ProcessPool pool;
  pool.start("a", shell("exec sleep 60"), folder.file("a"));
  pool.start("b", shell("exec sleep 60"), folder.file("b"));
  EXPECT_EQ(pool.names(), (std::vector<std::string>{"a", "b"}));
  const Timer timer;
  pool.stop();
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_LT(timer.seconds(), 4);
}

TEST(ProcessPool, SaysWhatCannotBeStarted) {
  const TempDir folder;
  ProcessPool pool;
  expect_error<RunError>(
      [&] { pool.start("a", {"/no/such/program"}, folder.file("log")); },
      "a: cannot start /no/such/program");
}

TEST(InterruptNote, NotesSignals) {
  const InterruptNote note;
  EXPECT_FALSE(InterruptNote::interrupted());
  std::raise(SIGTERM);
  EXPECT_TRUE(InterruptNote::interrupted());
}

}  // namespace
}  // namespace kith
