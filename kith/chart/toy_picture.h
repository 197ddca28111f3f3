#pragma once

#include <string>
#include <vector>

#include "kith/chart/chart.h"

namespace kith {

/// Points of one class and what a network makes of them.
struct ToyClass {
  std::vector<ChartPoint> points;      ///< In [0, 1] x [0, 1], y upwards.
  std::vector<ChartPoint> embeddings;  ///< On the unit circle.
};

/// What one run shows.
struct ToyRow {
  std::string title;
  std::string note;  ///< Behind the title; may be empty.
  std::vector<ToyClass> train;
  std::vector<ToyClass> test;
  /// Singular values of the training embeddings as shares of their sum, the
  /// largest first.
  std::vector<double> spectrum;
};

/// An SVG element: a row a run, with its points, the training and the test
/// embeddings on the circle, and the spectrum as bars. Of embeddings the
/// direction alone is drawn, each class on a ring of its own around the
/// circle, so that classes in the same place are both seen. A point that is not
/// finite is left out.
std::string toy_picture(const std::vector<ToyRow>& rows);

}  // namespace kith
