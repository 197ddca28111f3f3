#pragma once

#include <string>

#include "kith/eval/embedded_split.h"
#include "kith/report/page.h"
#include "kith/train/run_config.h"

namespace kith {

/// What the page of a run is made from.
struct PageInput {
  const RunConfig& config;
  const DataSet& data;
  const EmbeddedSplit& split;  ///< Embedded by the trained network.
  const EvalResult& before;
  const EvalResult& after;
  std::string run_folder;
  std::string command;
  double train_seconds = 0;
  int64_t steps = 0;
};

/// Loss curve, Recall@k before and after, and twelve queries drawn with the
/// run's seed, each with its five nearest neighbours.
RunPage make_run_page(const PageInput& input);

}  // namespace kith
