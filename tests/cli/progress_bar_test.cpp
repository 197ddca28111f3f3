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
            "epoch 12/80  12/345  loss 0.2310  2:38:37 left");
  EXPECT_EQ(render_bar(epoch(), 65, false),
            "epoch 12/80  12/345  loss 0.2310  1.0k images/s  2:38:37 left");
  EXPECT_EQ(render_bar(epoch(), 79, false),
            "epoch 12/80  12/345  loss 0.2310  lr 1.0e-04  1.0k images/s  "
            "2:38:37 left");
  EXPECT_EQ(render_bar(epoch(), 119, false),
            "epoch 12/80 [#                             ]  12/345  loss 0.2310"
            "  lr 1.0e-04  1.0k images/s  2:38:37 left");
  EXPECT_EQ(render_bar(epoch(), 199, true),
            "epoch 12/80 ▕█                             ▏  12/345  loss 0.2310"
            "  lr 1.0e-04  1.0k images/s  2:38:37 left");
  BarState slow = epoch();
  slow.rate = 0;
  EXPECT_EQ(render_bar(slow, 59, false),
            "epoch 12/80  12/345  loss 0.2310  lr 1.0e-04");
  slow.note = "";
  EXPECT_EQ(render_bar(slow, 59, false), "epoch 12/80  12/345");
  EXPECT_EQ(render_summary(epoch(), 80, false),
            "epoch 12/80  12/345 in 0:10  1.0k images/s  loss 0.2310  lr "
            "1.0e-04");
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
    winsize size{};
    size.ws_col = 60;
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
  EXPECT_TRUE(contains(terminal_.read_all(), "epoch 3/4  98/100"));
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

TEST_F(ProgressBarTest, SilentOnADumbTerminalAndOnAFile) {
  setenv("TERM", "dumb", 1);
  ProgressBar dumb(terminal_.slave);
  dumb.start("x", 10);
  dumb.finish();
  EXPECT_EQ(terminal_.read_all(), "");
  setenv("TERM", "xterm", 1);

  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    ProgressBar piped(ends[1]);
    piped.start("x", 10);
    piped.advance(10, "");
    piped.finish();
  }
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
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
