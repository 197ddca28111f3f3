#pragma once

#include <string>
#include <vector>

#include "kith/chart/svg.h"

namespace kith {

/// A point as it is drawn: its values, and its place in the view box.
struct SvgPoint {
  double x = 0.0;
  double y = 0.0;
  double left = 0.0;
  double top = 0.0;
};

/// What is told of a series where the pointer is, or to a screen reader.
struct SvgSeries {
  std::string name;
  std::string stroke;  ///< CSS class of its colour.
  std::vector<SvgPoint> points;
};

/// <g class="series" data-name data-stroke data-points="x,y,left,top ...">. The
/// caller draws the series and appends "</g>".
std::string svg_open_series(const SvgSeries& series);

/// An empty element that says what the axes are, and where the plot lies:
/// data-x, data-y, data-box="left top right bottom".
std::string svg_axes_data(const SvgPlot& plot, const std::string& x_label,
                          const std::string& y_label);

/// The <desc> of a chart: of each series its first, last, lowest and highest
/// value. Of more series than a listener could keep in mind the first ones.
std::string svg_describe(const std::vector<SvgSeries>& series);

}  // namespace kith
