#include "kith/core/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace kith {
namespace {

/// Beyond it a duration is not one, in seconds.
constexpr double kLongest = 1e9;

/// The value as printed: in hundredths of a percent, or in four digits.
double printed(double value, bool is_share) {
  if (is_share) return std::round(value * 1e4) / 1e2;
  return std::strtod(metric_text(value, false).c_str(), nullptr);
}

std::string two_digits(int64_t value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

}  // namespace

std::string format_fixed(double value, int decimals) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  std::array<char, 512> buffer;  // the largest double has 309 digits
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    std::chars_format::fixed, std::clamp(decimals, 0, 100));
  std::string text(buffer.data(), result.ptr);
  // "-0.00" says nothing that "0.00" does not.
  if (text.find_first_not_of("-0.") == std::string::npos && text[0] == '-') {
    text.erase(0, 1);
  }
  return text;
}

std::string format_general(double value, int digits) {
  std::array<char, 64> buffer;
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    std::chars_format::general, digits);
  return {buffer.data(), result.ptr};
}

std::string format_number(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

std::string metric_text(double value, bool is_share, const MetricStyle& style) {
  const bool is_unknown = is_share || !style.shows_infinite
                              ? !std::isfinite(value)
                              : std::isnan(value);
  if (is_unknown) return style.unknown;
  return is_share ? format_fixed(100 * value, 2) + style.percent
                  : format_number("%.4g", value);
}

std::string plus_minus_text(double value, double half_width, bool is_share,
                            const std::string& plus_minus,
                            const MetricStyle& style) {
  const std::string text = metric_text(value, is_share, style);
  if (std::isnan(half_width)) return text;
  return text + plus_minus + metric_text(half_width, is_share, style);
}

std::string csv_number(double value, bool is_share) {
  if (!std::isfinite(value)) return "";
  return format_number("%.4f", is_share ? 100 * value : value);
}

std::string change_text(double change, bool is_share) {
  if (std::isnan(change)) return kPlainStyle.unknown;
  return is_share ? format_number("%+.2f", 100 * change)
                  : format_number("%+.3g", change);
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

std::string rate_text(double rate) { return format_number("%.1e", rate); }

std::string duration_text(double seconds) {
  if (!(seconds >= 0.0 && seconds <= kLongest)) return kDash;
  if (seconds < 1.0) return format_fixed(1e3 * seconds, 1) + " ms";
  if (seconds < 60.0) return format_fixed(seconds, 1) + " s";
  const auto whole = static_cast<int64_t>(std::round(seconds));
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
  }
  return std::to_string(whole / 3600) + " h " + two_digits(whole / 60 % 60) +
         " min";
}

std::string rough_duration_text(double seconds) {
  if (!(seconds >= 0.0 && seconds <= kLongest)) return kDash;
  if (seconds < 100) return format_fixed(seconds, 0) + " s";
  const auto minutes = static_cast<int64_t>(std::round(seconds / 60));
  if (minutes < 60) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) +
         " min";
}

std::string memory_text(int64_t megabytes) {
  if (megabytes <= 0) return kDash;
  if (megabytes < 1024) return std::to_string(megabytes) + " MB";
  return format_fixed(static_cast<double>(megabytes) / 1024, 2) + " GB";
}

}  // namespace kith
