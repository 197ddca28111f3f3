#pragma once

#include "kith/eval/decision.h"
#include "kith/run/detail/stored_json.h"
#include "kith/run/stored_decision.h"

namespace kith {

/// The object "threshold" of metrics.json.
OrderedJson json_of(const Decision& decision);

/// None for null.
std::optional<StoredDecision> decision_of(const OrderedJson& object);

}  // namespace kith
