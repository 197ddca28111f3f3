#include "kith/report/class_colour.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace kith {
namespace {

// WCAG's relative luminance: contrast 4.6 with white, 4.1 with the dark page.
constexpr double kLuminance = 0.18;
constexpr double kSaturation = 0.75;
constexpr double kGoldenTurn = 0.38196601125010515;  // of a circle

using Rgb = std::array<double, 3>;

Rgb from_hsl(double hue, double lightness) {
  const double chroma = kSaturation * (1.0 - std::abs(2.0 * lightness - 1.0));
  Rgb rgb{};
  for (size_t i = 0; i < 3; ++i) {
    // Each channel is a ramp around the circle, 120 degrees from the others.
    const double shift = i == 0 ? 0.0 : i == 1 ? 2.0 / 3.0 : 1.0 / 3.0;
    double turn = hue + shift;
    turn -= std::floor(turn);
    const double ramp = std::abs(turn * 6.0 - 3.0) - 1.0;
    const double level = ramp < 0.0 ? 0.0 : ramp > 1.0 ? 1.0 : ramp;
    rgb[i] = lightness + chroma * (level - 0.5);
  }
  return rgb;
}

double luminance(const Rgb& rgb) {
  constexpr Rgb kWeights = {0.2126, 0.7152, 0.0722};
  double sum = 0.0;
  for (size_t i = 0; i < 3; ++i) {
    const double linear = rgb[i] <= 0.04045
                              ? rgb[i] / 12.92
                              : std::pow((rgb[i] + 0.055) / 1.055, 2.4);
    sum += kWeights[i] * linear;
  }
  return sum;
}

}  // namespace

std::string class_colour(int64_t number) {
  const double turns = kGoldenTurn * static_cast<double>(number);
  const double hue = turns - std::floor(turns);
  double low = 0.0, high = 1.0;  // luminance rises with lightness
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (luminance(from_hsl(hue, middle)) < kLuminance ? low : high) = middle;
  }
  const Rgb rgb = from_hsl(hue, low);
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x",
                static_cast<unsigned>(std::lround(255.0 * rgb[0])) & 255u,
                static_cast<unsigned>(std::lround(255.0 * rgb[1])) & 255u,
                static_cast<unsigned>(std::lround(255.0 * rgb[2])) & 255u);
  return text.data();
}

}  // namespace kith
