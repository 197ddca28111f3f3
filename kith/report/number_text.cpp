#include "kith/report/number_text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "kith/chart/html.h"

namespace kith {
namespace {

/// The value as printed: in hundredths of a percent, or in four digits.
double printed(double value, bool is_share) {
  if (is_share) return std::round(value * 1e4) / 1e2;
  return std::strtod(metric_text(value, false).c_str(), nullptr);
}

std::string two_digits(int64_t value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

}  // namespace

std::string metric_text(double value, bool is_share) {
  if (!std::isfinite(value)) return kDash;
  if (is_share) return format_fixed(100 * value, 2) + "%";
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

std::string difference_text(double before, double after, bool is_share) {
  if (!std::isfinite(before) || !std::isfinite(after)) return kDash;
  const double difference =
      printed(after, is_share) - printed(before, is_share);
  std::string text = is_share ? format_fixed(std::abs(difference), 2)
                              : metric_text(std::abs(difference), false);
  if (text.find_first_not_of("0.") == std::string::npos) return text;
  return (difference > 0 ? "+" : "−") + text;
}

std::string duration_text(double seconds) {
  constexpr double kMost = 1e9;
  if (!(seconds >= 0.0 && seconds <= kMost)) return kDash;
  if (seconds < 1.0) return format_fixed(1e3 * seconds, 1) + " ms";
  if (seconds < 60.0) return format_fixed(seconds, 1) + " s";
  const auto whole = static_cast<int64_t>(std::round(seconds));
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
  }
  return std::to_string(whole / 3600) + " h " + two_digits(whole / 60 % 60) +
         " min";
}

std::string memory_text(int64_t megabytes) {
  if (megabytes <= 0) return kDash;
  if (megabytes < 1024) return std::to_string(megabytes) + " MB";
  return format_fixed(static_cast<double>(megabytes) / 1024, 2) + " GB";
}

}  // namespace kith
