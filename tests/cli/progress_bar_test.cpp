#include "cli/progress_bar.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace kith {
namespace {

// Columns of a line without wide characters.
int columns(const std::string& text) {
  int count = 0;
  for (const char c : text) count += (c & 0xC0) != 0x80;
  return count;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

BarState half_way() {
  return {"training", 500, 1000, 10.0, 50.0, "loss 0.231"};
}

TEST(FormatDuration, MinutesAndHours) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(5.9), "0:05");
  EXPECT_EQ(format_duration(83), "1:23");
  EXPECT_EQ(format_duration(3599.999), "59:59");
  EXPECT_EQ(format_duration(7384), "2:03:04");
  EXPECT_EQ(format_duration(100 * 3600), "100:00:00");
}

TEST(FormatDuration, WhatIsNoDurationIsAQuestionMark) {
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(format_duration(INFINITY), "?");
}

TEST(FormatRate, ChoosesTheUnit) {
  EXPECT_EQ(format_rate(35.24), "35.2/s");
  EXPECT_EQ(format_rate(99.96), "100/s");
  EXPECT_EQ(format_rate(999.6), "1.0k/s");
  EXPECT_EQ(format_rate(12345), "12.3k/s");
  EXPECT_EQ(format_rate(2.5e6), "2.5M/s");
  EXPECT_EQ(format_rate(0.35), "0.35/s");
  EXPECT_EQ(format_rate(0.04), "2.4/min");
  EXPECT_EQ(format_rate(0.001), "3.6/h");
  EXPECT_EQ(format_rate(12345, "images"), "12.3k images/s");
  EXPECT_EQ(format_rate(0.04, "images"), "2.4 images/min");
  EXPECT_EQ(format_rate(0), "");
  EXPECT_EQ(format_rate(-1), "");
  EXPECT_EQ(format_rate(NAN), "");
  EXPECT_EQ(format_rate(INFINITY), "");
}

TEST(RenderBar, ShowsEverythingWhereThereIsRoom) {
  EXPECT_EQ(render_bar(half_way(), 80, false),
            "training  50% [##########          ]  500/1000  50.0/s  "
            "0:10 left  loss 0.231");
  EXPECT_EQ(render_bar(half_way(), 40, true),
            "training  50% ▕█████     ▏  500/1000");
  EXPECT_EQ(render_bar(half_way(), 20, false), "trai..  50% [##   ]");
}

BarState epoch() {
  BarState state{"epoch 12/80", 12, 345, 10.0, 2.5, "loss 0.2310  lr 1.0e-04"};
  state.pace = {"images", 400, 0, 345 * 68};
  return state;
}

TEST(RenderBar, APieceOfLongerWorkShowsTheWholeRun) {
  EXPECT_EQ(render_bar(epoch(), 59, false),
            "epoch 12/80 [         ]  12/345  loss 0.2310  2:38:37 left");
  EXPECT_EQ(render_bar(epoch(), 79, false),
            "epoch 12/80 [            ]  12/345  loss 0.2310  1.0k images/s  "
            "2:38:37 left");
  EXPECT_EQ(render_bar(epoch(), 119, false),
            "epoch 12/80 [            ]  12/345  loss 0.2310  lr 1.0e-04  1.0k "
            "images/s  2:38:37 left");
  EXPECT_EQ(render_bar(epoch(), 199, true),
            "epoch 12/80 ▕█                             ▏  12/345  loss 0.2310"
            "  lr 1.0e-04  1.0k images/s  2:38:37 left");
  BarState slow = epoch();
  slow.rate = 0;
  EXPECT_EQ(render_bar(slow, 59, false),
            "epoch 12/80 [         ]  12/345  loss 0.2310  lr 1.0e-04");
  slow.note = "";
  EXPECT_EQ(render_bar(slow, 59, false), "epoch 12/80 [         ]  12/345");
  EXPECT_EQ(render_summary(epoch(), 80, false),
            "epoch 12/80  12/345 in 0:10  1.0k images/s  loss 0.2310  lr "
            "1.0e-04");
}

TEST(RenderBar, TheLastNoteGivesWayFirst) {
  BarState state = epoch();
  state.note += "  recall_any@1 98.10% (epoch 11)";
  EXPECT_EQ(render_bar(state, 110, false),
            "epoch 12/80 [            ]  12/345  loss 0.2310  lr 1.0e-04  1.0k "
            "images/s  2:38:37 left");
  EXPECT_TRUE(contains(render_bar(state, 130, false),
                       "  lr 1.0e-04  recall_any@1 98.10% (epoch 11)  1.0k "));
}

TEST(RenderBar, TheBarOfAPieceMovesAtEveryWidth) {
  const auto cells = [](int64_t done, int width) {
    BarState state = epoch();
    state.done = done;
    const std::string line = render_bar(state, width, false);
    return std::count(line.begin(), line.end(), '#');
  };
  for (int width = 20; width <= 200; ++width) {
    EXPECT_EQ(cells(0, width), 0) << width;
    EXPECT_GE(cells(172, width), 2) << width;
    EXPECT_GE(cells(345, width), 5) << width;
    EXPECT_GT(cells(345, width), cells(172, width)) << width;
  }
}

TEST(RenderBar, TheTimeLeftHasThePausesBetweenPieces) {
  BarState state = epoch();
  state.done = 345;
  state.pace.after = 100;
  EXPECT_TRUE(contains(render_bar(state, 79, false), "  0:40 left"));
  state.pause = 0.5;
  EXPECT_TRUE(contains(render_bar(state, 79, false), "  1:30 left"));
  state.pace.after = 0;
  EXPECT_FALSE(contains(render_bar(state, 79, false), "left"));
}

TEST(RenderLogLine, SaysEverything) {
  BarState state = epoch();
  state.note += "  recall_any@1 98.10% (epoch 11)";
  EXPECT_EQ(render_log_line(state),
            "epoch 12/80  12/345  loss 0.2310  lr 1.0e-04  recall_any@1 98.10% "
            "(epoch 11)  1.0k images/s  2:38:37 left");
  EXPECT_EQ(render_log_line(half_way()),
            "training  500/1000  50.0/s  0:10 left  loss 0.231");
  state = half_way();
  state.done = 1000;
  EXPECT_EQ(render_log_line(state),
            "training  1000/1000  50.0/s  in 0:10  loss 0.231");
  state.total = 0;
  state.note = "";
  EXPECT_EQ(render_log_line(state), "training  1000  50.0/s  in 0:10");
}

TEST(RenderBar, APieceOfLongerWorkNeverExceedsTheWidth) {
  for (int width = 0; width <= 200; ++width) {
    for (const int64_t total : {int64_t{0}, int64_t{345}, INT64_MAX}) {
      BarState state = epoch();
      state.total = total;
      state.what = std::string(static_cast<size_t>(width), 'w');
      EXPECT_LE(columns(render_bar(state, width, true)), width);
    }
  }
}

TEST(RenderBar, NeverExceedsTheWidth) {
  BarState state = half_way();
  for (const std::string& what : {std::string("e"), std::string(90, 'w')}) {
    for (const std::string& note : {std::string(), std::string(90, 'n')}) {
      for (const int64_t total : {int64_t{0}, int64_t{1000}, INT64_MAX}) {
        for (int width = -1; width <= 200; ++width) {
          for (const bool utf8 : {false, true}) {
            state.what = what;
            state.note = note;
            state.total = total;
            EXPECT_LE(columns(render_bar(state, width, utf8)),
                      std::max(width, 0));
            EXPECT_LE(columns(render_summary(state, width, utf8)),
                      std::max(width, 0));
          }
        }
      }
    }
  }
}

TEST(RenderBar, LongNamesAreCutWithAnEllipsis) {
  BarState state = half_way();
  state.what = "a very long name of a piece of work that goes on";
  EXPECT_TRUE(render_bar(state, 80, true).starts_with("a very long name of… "));
  EXPECT_TRUE(
      render_bar(state, 80, false).starts_with("a very long name o.. "));
}

TEST(RenderBar, TheBarKeepsItsPlaceWhileNumbersChange) {
  BarState state = half_way();
  const std::string first = render_bar(state, 100, false);
  state.done = 7;
  state.rate = 0.04;
  state.note = "";
  const std::string second = render_bar(state, 100, false);
  EXPECT_EQ(first.find('['), second.find('['));
  EXPECT_EQ(first.find(']'), second.find(']'));
}

TEST(RenderBar, FillsFromNothingToAll) {
  BarState state = half_way();
  state.done = 0;
  EXPECT_TRUE(contains(render_bar(state, 80, false), "  0% [          "));
  state.done = 999;
  EXPECT_TRUE(contains(render_bar(state, 80, false), " 99% ["));
  EXPECT_TRUE(contains(render_bar(state, 80, true), "██▉▏"));
  for (const int64_t done : {1000, 2000}) {
    state.done = done;
    EXPECT_TRUE(contains(render_bar(state, 80, false),
                         "100% [####################] 1000/1000"));
  }
  state.done = -5;
  EXPECT_TRUE(contains(render_bar(state, 80, false), "  0% ["));
}

TEST(RenderBar, UnknownTotalHasCountAndTime) {
  BarState state = half_way();
  state.total = 0;
  EXPECT_EQ(render_bar(state, 80, false),
            "training  500  50.0/s  0:10  loss 0.231");
}

TEST(RenderBar, WithoutARateNothingIsForetold) {
  BarState state = half_way();
  state.rate = 0;
  EXPECT_FALSE(contains(render_bar(state, 80, false), "left"));
}

TEST(RenderBar, TextIsMadeSafeForTheTerminal) {
  BarState state = half_way();
  state.what = "a\nb\x1b[2J";
  state.note = "caf\xC3\xA9 \xFF";
  const std::string ascii = render_bar(state, 120, false);
  EXPECT_TRUE(ascii.starts_with("a b [2J "));
  EXPECT_TRUE(ascii.ends_with("caf? ?"));
  EXPECT_TRUE(render_bar(state, 120, true).ends_with("café ?"));
  state.note = "字字字字字字";  // twelve columns
  const std::string wide = render_bar(state, 75, true);
  EXPECT_TRUE(wide.ends_with("  字字字字字…")) << wide;
}

TEST(RenderSummary, NamesTheShortfall) {
  BarState state = half_way();
  EXPECT_EQ(render_summary(state, 80, false),
            "training  500/1000 in 0:10  50.0/s  loss 0.231");
  state.done = 1000;
  EXPECT_EQ(render_summary(state, 80, false),
            "training  1000 in 0:10  50.0/s  loss 0.231");
}

TEST(SilentProgress, DoesNothing) {
  Progress& progress = silent_progress();
  progress.start("x", 3);
  progress.advance(1, "");
  progress.finish();
  EXPECT_EQ(&progress, &silent_progress());
}

// A pseudo terminal of 60 columns; what is written to `slave` can be read.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) return;
    slave = open(ptsname(master_), O_RDWR | O_NOCTTY);
    resize(60);
  }
  void resize(unsigned short columns) const {
    winsize size{};
    size.ws_col = columns;
    ioctl(slave, TIOCSWINSZ, &size);
  }
  ~Terminal() {
    if (slave >= 0) close(slave);
    if (master_ >= 0) close(master_);
  }

  std::string read_all() {
    std::string text;
    char buffer[4096];
    pollfd ready{master_, POLLIN, 0};
    while (poll(&ready, 1, 50) > 0) {
      const ssize_t got = read(master_, buffer, sizeof(buffer));
      if (got <= 0) break;
      text.append(buffer, static_cast<size_t>(got));
    }
    return text;
  }

  int slave = -1;

 private:
  int master_;
};

class ProgressBarTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C", 1);
    if (terminal_.slave < 0) GTEST_SKIP() << "no pseudo terminal here";
  }

  Terminal terminal_;
};

TEST_F(ProgressBarTest, DrawsThenLeavesOneSummaryLine) {
  ProgressBar bar(terminal_.slave);
  bar.start("embedding", 100);
  EXPECT_TRUE(contains(terminal_.read_all(), "\rembedding   0% ["));
  bar.advance(100, "fine");
  bar.finish();
  const std::string end = terminal_.read_all();
  EXPECT_TRUE(contains(end, "\r\x1b[Kembedding  100 in 0:00"));
  EXPECT_TRUE(end.ends_with("fine\r\n")) << end;
}

TEST_F(ProgressBarTest, SpeedIsOfWhatWasDoneHere) {
  ProgressBar bar(terminal_.slave);
  bar.start("epoch 3/4", 100);
  bar.set_pace({"images", 10, 98, 100});
  EXPECT_TRUE(contains(terminal_.read_all(), "epoch 3/4 [######## ]  98/100"));
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  bar.advance(100, "loss 1.0000  lr 1.0e-04");
  // Two steps of ten images in 0.15 s or more.
  const std::string live = terminal_.read_all();
  EXPECT_TRUE(contains(live, "loss 1.0000")) << live;
  EXPECT_FALSE(contains(live, "k images/s")) << live;
  bar.finish();
  const std::string end = terminal_.read_all();
  EXPECT_TRUE(contains(end, "epoch 3/4  100 in 0:00")) << end;
  EXPECT_FALSE(contains(end, "k images/s")) << end;
}

TEST_F(ProgressBarTest, RedrawsAtMostTenTimesASecond) {
  ProgressBar bar(terminal_.slave);
  const auto begin = std::chrono::steady_clock::now();
  bar.start("x", 1000000);
  int64_t done = 0;
  while (std::chrono::steady_clock::now() - begin <
         std::chrono::milliseconds(350)) {
    bar.advance(++done, "");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  const std::string text = terminal_.read_all();
  const auto draws = std::count(text.begin(), text.end(), '\r');
  EXPECT_GE(draws, 2);
  EXPECT_LE(draws, 1 + elapsed / std::chrono::milliseconds(100));
  EXPECT_TRUE(contains(text, "/s"));
}

TEST_F(ProgressBarTest, AnUnfinishedBarIsErased) {
  {
    ProgressBar bar(terminal_.slave);
    bar.start("x", 10);
  }
  const std::string text = terminal_.read_all();
  EXPECT_TRUE(text.ends_with("\r\x1b[K"));
  EXPECT_FALSE(contains(text, "\n"));
}

TEST_F(ProgressBarTest, TakesTheWidthThatTheWindowHas) {
  ProgressBar bar(terminal_.slave);
  bar.start("epoch 3/4", 100);
  bar.set_pace({"images", 10, 0, 100});
  int64_t done = 10;
  for (const int width : {120, 40, 60, 80}) {
    terminal_.read_all();
    terminal_.resize(static_cast<unsigned short>(width));
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    bar.advance(done += 20, "loss 1.0000  lr 1.0e-04");
    const std::string drawn = terminal_.read_all();
    EXPECT_TRUE(drawn.starts_with("\repoch 3/4 [#")) << drawn;
    EXPECT_LT(static_cast<int>(drawn.size()), width + 4) << drawn;
    EXPECT_GT(static_cast<int>(drawn.size()), width / 2) << drawn;
  }
}

// What a bar writes to a pipe; not seen by other processes.
class Log {
 public:
  Log() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    out_ = ends[0];
    in = ends[1];
    fcntl(out_, F_SETFL, O_NONBLOCK);
  }
  ~Log() {
    close(out_);
    close(in);
  }

  // Since the last call.
  std::string text() const {
    char buffer[4096];
    const ssize_t got = read(out_, buffer, sizeof(buffer));
    return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : "";
  }

  int in = -1;

 private:
  int out_ = -1;
};

void run_epoch(ProgressBar& bar, int number, int epochs) {
  bar.start("epoch " + std::to_string(number) + "/" + std::to_string(epochs),
            10);
  bar.set_pace({"images", 10, 0, 10 * (epochs - number)});
  for (int step = 1; step <= 10; ++step) bar.advance(step, "loss 1.0000");
  bar.finish();
}

TEST(ProgressLog, HasALineForEveryEpoch) {
  const Log log;
  ProgressBar bar(log.in, {std::chrono::milliseconds(0)});
  for (int epoch = 1; epoch <= 3; ++epoch) {
    run_epoch(bar, epoch, 3);
    const std::string text = log.text();
    ASSERT_GT(text.size(), 9u);
    EXPECT_EQ(text[2], ':');
    const std::string name = " epoch " + std::to_string(epoch) + "/3";
    EXPECT_EQ(text.find(name + "  10/10  loss 1.0000  "), 8u) << text;
    EXPECT_TRUE(contains(text, " images/s")) << text;
    EXPECT_EQ(contains(text, " left\n"), epoch < 3) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  }
}

TEST(ProgressLog, ShortEpochsDoNotFloodIt) {
  const Log log;
  ProgressBar bar(log.in);
  for (int epoch = 1; epoch <= 1000; ++epoch) run_epoch(bar, epoch, 1000);
  const std::string text = log.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_TRUE(contains(text, "epoch 1/1000")) << text;
  EXPECT_TRUE(contains(text, "epoch 1000/1000")) << text;
}

TEST(ProgressLog, ALongEpochShowsThatItLives) {
  const Log log;
  ProgressBar bar(
      log.in, {std::chrono::milliseconds(0), std::chrono::milliseconds(150)});
  bar.start("epoch 1/2", 100);
  bar.set_pace({"images", 10, 0, 100});
  bar.advance(1, "loss 1.0000");
  EXPECT_EQ(log.text(), "");
  for (int step = 2; step <= 3; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(160));
    bar.advance(step, "loss 1.0000");
    const std::string text = log.text();
    EXPECT_TRUE(contains(text, "  " + std::to_string(step) + "/100  loss"))
        << text;
    EXPECT_TRUE(text.ends_with(" left\n")) << text;
  }
  bar.finish();  // stopped
  EXPECT_TRUE(contains(log.text(), "epoch 1/2  3/100  loss 1.0000"));
}

TEST(ProgressLog, OtherWorkIsToldOnlyIfItTakesLong) {
  const Log log;
  ProgressBar bar(
      log.in, {std::chrono::milliseconds(0), std::chrono::milliseconds(150)});
  bar.start("embedding", 10);
  bar.advance(10, "");
  bar.finish();
  EXPECT_EQ(log.text(), "");
  bar.start("embedding", 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(160));
  bar.advance(5, "");
  EXPECT_TRUE(contains(log.text(), " embedding  5/10  "));
  bar.advance(10, "");
  bar.finish();
  EXPECT_TRUE(contains(log.text(), " embedding  10/10  "));
}

TEST(ProgressLog, TheTimeLeftHasWhatPassesBetweenEpochs) {
  const Log log;
  ProgressBar bar(log.in, {std::chrono::milliseconds(0)});
  run_epoch(bar, 1, 21);
  EXPECT_TRUE(contains(log.text(), "  0:00 left"));
  bar.start("embedding", 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  bar.finish();
  run_epoch(bar, 2, 21);
  // 19 epochs are left, and one waited 0.2 s or more.
  const std::string text = log.text();
  EXPECT_FALSE(contains(text, "  0:00 left")) << text;
  // A new run knows nothing of this.
  run_epoch(bar, 1, 21);
  EXPECT_TRUE(contains(log.text(), "  0:00 left"));
}

TEST_F(ProgressBarTest, ADumbTerminalHasTheLog) {
  setenv("TERM", "dumb", 1);
  ProgressBar bar(terminal_.slave);
  setenv("TERM", "xterm", 1);
  bar.start("embedding", 10);
  bar.finish();
  EXPECT_EQ(terminal_.read_all(), "");
  run_epoch(bar, 1, 1);
  const std::string text = terminal_.read_all();
  EXPECT_TRUE(contains(text, " epoch 1/1  10/10  loss 1.0000")) << text;
  EXPECT_FALSE(contains(text, "\x1b")) << text;
}

TEST_F(ProgressBarTest, TheLocaleDecidesOnUtf8) {
  EXPECT_FALSE(locale_is_utf8());
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  EXPECT_TRUE(locale_is_utf8());
  setenv("LC_ALL", "", 1);
  setenv("LC_CTYPE", "C.utf8", 1);
  EXPECT_TRUE(locale_is_utf8());
  setenv("LC_CTYPE", "POSIX", 1);
  EXPECT_FALSE(locale_is_utf8());
}

}  // namespace
}  // namespace kith
