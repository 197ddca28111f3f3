#include "kith/chart/share_bars.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/markup.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ShareBars, PartsFillTheWidth) {
  const std::string svg =
      share_bars({"Time", "s", {"data", "forward"}, {{"a", {1, 3}}}});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr("x=\"0.0\" y=\"82.0\" width=\"118.5\""));
  EXPECT_THAT(svg, HasSubstr("x=\"120.0\" y=\"82.0\" width=\"358.5\""));
  EXPECT_THAT(svg, HasSubstr("<title>a, data: 25.0%, 1 s</title>"));
  EXPECT_THAT(svg, HasSubstr(">75.0%</text>"));
}

TEST(ShareBars, AThinPartHasNoFigureButATip) {
  const std::string svg =
      share_bars({"Time", "s", {"data", "forward"}, {{"", {1, 999}}}});
  EXPECT_THAT(svg, Not(HasSubstr(">0.1%</text>")));
  EXPECT_THAT(svg, HasSubstr("<title>data: 0.1%, 1 s</title>"));
}

TEST(ShareBars, WhatIsMissingIsNotDrawn) {
  const std::string svg =
      share_bars({"<Time>",
                  "s",
                  {"x", "y"},
                  {{"a", {NAN, 1}}, {"b", {}}, {"c", {-1, INFINITY}}}});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count_of(svg, "<title>a, "), 1);
  EXPECT_EQ(count_of(svg, "no data"), 2);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_EQ(markup_fault(share_bars({})), "");
}

}  // namespace
}  // namespace kith
