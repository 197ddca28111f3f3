#include "kith/eval/threshold_wish.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "kith/core/error.h"
#include "kith/core/number_text.h"

namespace kith {
namespace {

using Kind = ThresholdWish::Kind;

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return {};
  return value;
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kFar:
      return "far";
    case Kind::kPrecision:
      return "precision";
    case Kind::kFpir:
      return "fpir";
    default:
      return "";
  }
}

std::string percent(double share) {
  return format_general(100 * share, 6) + "%";
}

}  // namespace

ThresholdWish ThresholdWish::parse(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == text.npos) {
    const std::optional<double> value = number_in(text);
    if (value && *value >= -1 && *value <= 1) return {Kind::kGiven, *value};
  } else {
    const std::optional<double> value = number_in(text.substr(equals + 1));
    for (const Kind kind : {Kind::kFar, Kind::kPrecision, Kind::kFpir}) {
      if (name != kind_name(kind)) continue;
      if (value && *value > 0 && *value < 1) return {kind, *value};
    }
  }
  throw ConfigError(
      "option 'threshold' " + text +
      ": expected far=RATE, precision=RATE or fpir=RATE with a rate between 0 "
      "and 1, or a similarity from -1 to 1");
}

std::string ThresholdWish::text() const {
  const std::string number = format_general(value, 9);
  return kind == Kind::kGiven ? number
                              : std::string(kind_name(kind)) + "=" + number;
}

std::string ThresholdWish::meaning() const {
  switch (kind) {
    case Kind::kFar:
      return "the least at which at most " + percent(value) +
             " of the pairs of two classes are accepted";
    case Kind::kPrecision:
      return "the least at which at least " + percent(value) +
             " of the accepted first answers are right";
    case Kind::kFpir:
      return "the least at which at most " + percent(value) +
             " of the searches for unknown classes are accepted";
    default:
      return "as given";
  }
}

}  // namespace kith
