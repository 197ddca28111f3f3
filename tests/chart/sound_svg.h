#pragma once

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/chart/axis.h"
#include "tests/support/markup.h"

namespace kith {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

/// What every drawing has to be, whatever the data.
inline void expect_sound(const std::string& svg) {
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_NE(svg.find("viewBox="), std::string::npos);
  for (const char* number : {"\"nan", "\"inf", "\"-inf", " nan", " inf"}) {
    EXPECT_EQ(svg.find(number), std::string::npos) << number;
  }
}

inline std::vector<std::string> labels_of(const Axis& axis) {
  std::vector<std::string> labels;
  for (const double tick : axis.ticks()) labels.push_back(axis.label(tick));
  return labels;
}

}  // namespace kith
