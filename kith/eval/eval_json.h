#pragma once

#include <string>

#include "kith/eval/evaluate.h"

namespace kith {

/// {"queries": ..., "gallery": ..., "queries_without_positives": ...,
///  "self": "...", "rules": "...", "metrics": {name: value}}. Values that are
/// not defined become null. Of a protocol with several parts their counts are
/// in "parts".
std::string eval_json(const EvalResult& result);

}  // namespace kith
