#pragma once

#include "kith/run/detail/stored_json.h"
#include "kith/run/eval_metrics.h"

namespace kith {

/// The tree of eval_metrics_json().
OrderedJson json_of(const EvalReport& report);

}  // namespace kith
