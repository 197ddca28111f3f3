#pragma once

#include <string>
#include <vector>

#include "kith/core/config.h"
#include "kith/train/train_options.h"

namespace kith {

/// The names of the metrics of a list such as {recall_any@1,10}. ConfigError,
/// with the place, for one that is unknown.
std::vector<std::string> metric_names(const std::vector<std::string>& metrics,
                                      const std::string& where);

/// Fills in what `eval` leaves open: a protocol and metrics that the user did
/// not name are the usual ones of the data set, and one of the metrics picks
/// the best checkpoint. `user` is the configuration as it was written, to tell
/// what was given, and where.
void settle_eval(const ConfigNode& user, const std::string& data_set,
                 EvalOptions& options);

/// ConfigError where options need each other.
void check_options(const ConfigNode& user, const TrainOptions& train,
                   const EvalOptions& eval);

}  // namespace kith
