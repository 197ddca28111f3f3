#pragma once

#include <string>

#include "kith/eval/evaluate.h"

namespace kith {

/// {"queries": ..., "gallery": ..., "queries_without_positives": ...,
///  "rules": "...", "metrics": {name: value}}. Values that are not defined
/// become null.
std::string eval_json(const EvalResult& result);

}  // namespace kith
