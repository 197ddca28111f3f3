#include "kith/core/number_text.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kith {
namespace {

TEST(NumberText, OfAMetricInEachStyle) {
  EXPECT_EQ(metric_text(0.978, true), "97.80%");
  EXPECT_EQ(metric_text(0.978, true, kPlainStyle), "97.80%");
  EXPECT_EQ(metric_text(0.978, true, kTableStyle), "97.80");
  EXPECT_EQ(metric_text(0.123456, false), "0.1235");
  EXPECT_EQ(metric_text(-1e-9, true), "0.00%");
  EXPECT_EQ(metric_text(NAN, true), "–");
  EXPECT_EQ(metric_text(NAN, false, kPlainStyle), "-");
  EXPECT_EQ(metric_text(INFINITY, false), "–");
  EXPECT_EQ(metric_text(INFINITY, false, kPlainStyle), "inf");
  EXPECT_EQ(metric_text(INFINITY, true, kPlainStyle), "-");
}

TEST(NumberText, OfAMeanAndItsInterval) {
  EXPECT_EQ(plus_minus_text(0.8231, 0.0045, true, " ± "), "82.31 ± 0.45");
  EXPECT_EQ(plus_minus_text(1.25, 0.5, false, " +- "), "1.25 +- 0.5");
  EXPECT_EQ(plus_minus_text(0.8231, NAN, true, " ± "), "82.31");
  EXPECT_EQ(plus_minus_text(NAN, NAN, true, " ± "), "-");
}

TEST(NumberText, OfAChangeAndOfADifference) {
  EXPECT_EQ(change_text(0.012, true), "+1.20");
  EXPECT_EQ(change_text(-0.5, false), "-0.5");
  EXPECT_EQ(change_text(NAN, true), "-");
  EXPECT_EQ(difference_text(0.5, 0.512, true), "+1.20");
  EXPECT_EQ(difference_text(0.512, 0.5, true), "−1.20");
  EXPECT_EQ(difference_text(0.5, 0.5, true), "0.00");
  EXPECT_EQ(difference_text(NAN, 0.5, true), "–");
}

TEST(NumberText, OfTimeAndMemory) {
  EXPECT_EQ(duration_text(0.0123), "12.3 ms");
  EXPECT_EQ(duration_text(4.2), "4.2 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
  EXPECT_EQ(duration_text(NAN), "–");
  EXPECT_EQ(rough_duration_text(45.4), "45 s");
  EXPECT_EQ(rough_duration_text(700), "12 min");
  EXPECT_EQ(rough_duration_text(12010), "3 h 20 min");
  EXPECT_EQ(rough_duration_text(-1), "–");
  EXPECT_EQ(rate_text(1e-4), "1.0e-04");
  EXPECT_EQ(memory_text(612), "612 MB");
  EXPECT_EQ(memory_text(10547), "10.30 GB");
  EXPECT_EQ(memory_text(0), "–");
}

TEST(NumberText, WritesWhatProgramsReadToo) {
  EXPECT_EQ(csv_number(0.978012, true), "97.8012");
  EXPECT_EQ(csv_number(-1.5, false), "-1.5000");
  EXPECT_EQ(csv_number(NAN, true), "");
  EXPECT_EQ(csv_number(INFINITY, false), "");
  EXPECT_EQ(format_general(0.25, 6), "0.25");
  EXPECT_EQ(format_general(1234567, 3), "1.23e+06");
}

}  // namespace
}  // namespace kith
