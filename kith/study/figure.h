#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/core/registry.h"
#include "kith/study/results.h"

namespace kith {

/// A picture of a study's results. A kind of figure is a plug-in in
/// kith/study/figures, named in `study.figures`.
class Figure {
 public:
  virtual ~Figure() = default;

  /// Throws ConfigError if the figure names an axis, label or metric that the
  /// study does not have. Called before the first training.
  virtual void check(const Study& study) const = 0;

  /// An SVG document. Works with some or all runs missing.
  virtual std::string draw(const StudyResults& results) const = 0;
};

using FigureRegistry = Registry<Figure>;
FigureRegistry& figure_registry();

struct NamedFigure {
  std::string file;  ///< Without folder and ending.
  std::unique_ptr<Figure> figure;
};

/// The figures of a study, checked. Their key `file` is read here; a part's own
/// options are the others. ConfigError with file and line.
std::vector<NamedFigure> make_figures(const Study& study);

}  // namespace kith
