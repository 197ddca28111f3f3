#include "kith/chart/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kith/chart/html.h"
#include "kith/core/number_text.h"

namespace kith {
namespace {

constexpr double kLargest = 1e300;
// Below this, differences drown in the rounding of what they are taken from.
constexpr double kRelativeExtent = 1e-9;

double round_step(double raw) {
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * (1.0 + 1e-9)) return factor * power;
  }
  return 10.0 * power;
}

std::string with_thousands(std::string digits) {
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t at = point; at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::vector<double> log_ticks(double lo, double hi) {
  constexpr double kSlack = 1.0 + 1e-9;
  const double first = std::floor(std::log10(lo)), last = std::log10(hi);
  const bool few = std::log10(hi / lo) < 3.0;
  // Of a hundred powers of ten some are enough.
  const double stride = std::max(1.0, std::ceil((last - first) / 10.0));
  std::vector<double> result;
  for (double power = first; power <= last + 1e-9; power += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10.0, power);
      if (factor > 1.0 && !few) break;
      if (tick * kSlack >= lo && tick <= hi * kSlack) result.push_back(tick);
    }
  }
  return result;
}

}  // namespace

double Axis::position(double value) const {
  if (!log) return (value - lo) / (hi - lo);
  return (std::log(value) - std::log(lo)) / (std::log(hi) - std::log(lo));
}

std::vector<double> Axis::ticks() const {
  if (!marks.empty()) return marks;
  if (log) return log_ticks(lo, hi);
  const auto first = static_cast<int64_t>(std::ceil(lo / step - 1e-6));
  const auto last = static_cast<int64_t>(std::floor(hi / step + 1e-6));
  std::vector<double> result;
  for (int64_t i = first; i <= last; ++i) {
    result.push_back(static_cast<double>(i) * step);
  }
  return result;
}

std::string Axis::label(double tick) const {
  if (log || !marks.empty()) return short_number(tick);
  if (std::abs(tick) < step * 1e-3) return "0";
  if (tick < 0.0) return "−" + label(-tick);
  const double magnitude = std::max(std::abs(lo), std::abs(hi));
  if (magnitude >= 1e7 || magnitude < 1e-3) {
    return format_general(tick, 10);
  }
  const int decimals = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return with_thousands(format_fixed(tick, std::max(0, decimals)));
}

bool plottable(double value) { return std::abs(value) <= kLargest; }

bool is_interval(double half) { return plottable(half) && half > 0.0; }

Axis make_axis(double lo, double hi, int ticks, bool round_out) {
  const double magnitude = std::max(std::abs(lo), std::abs(hi));
  if (!(lo <= hi) || magnitude < 1.0 / kLargest) {
    lo = 0.0;
    hi = 1.0;
  } else if (hi - lo <= kRelativeExtent * magnitude) {
    const double beyond = 1.25 * hi;
    lo = std::min(0.0, beyond);
    hi = std::max(0.0, beyond);
  }
  Axis axis{lo, hi, round_step((hi - lo) / std::max(1, ticks))};
  if (round_out) {
    axis.lo = axis.step * std::floor(lo / axis.step + 1e-6);
    axis.hi = axis.step * std::ceil(hi / axis.step - 1e-6);
  }
  return axis;
}

Axis make_log_axis(double lo, double hi) {
  if (!(lo <= hi) || !(lo > 0.0)) {
    lo = 1.0;
    hi = 10.0;
  } else if (hi <= lo * (1.0 + kRelativeExtent)) {
    lo /= 3.0;
    hi *= 3.0;
  }
  Axis axis;
  axis.lo = lo;
  axis.hi = hi;
  axis.log = true;
  return axis;
}

std::string short_number(double value) {
  if (value < 0.0) return "−" + short_number(-value);
  const std::string text = format_general(value, 6);
  return text.find_first_not_of("0123456789.") == std::string::npos
             ? with_thousands(text)
             : text;
}

}  // namespace kith
