#pragma once

#include <string>

#include "kith/study/study.h"

namespace kith {

/// A metric as figures show it: shares in percent, other numbers as they are.
struct FigureMetric {
  std::string name;
  std::string label;    ///< "recall_any@1 (%)", "rho"
  double factor = 1.0;  ///< 100 for shares.
  bool is_list = false;
};

/// ConfigError, with figure and key, for a metric that there is none of.
FigureMetric figure_metric(const std::string& figure, const std::string& key,
                           const std::string& name);

/// The same, also if the study's runs do not measure it. `list` says whether
/// the figure draws lists of numbers, as `spectrum` is, or single ones.
FigureMetric measured_metric(const Study& study, const std::string& figure,
                             const std::string& key, const std::string& name,
                             bool list = false);

}  // namespace kith
