#pragma once

#include <string>
#include <vector>

namespace kith {

/// What another library, or the code of a paper, calls a part of kith.
struct OtherName {
  const char* kind;     ///< "loss", as Registry::kind().
  const char* name;     ///< "TripletMarginLoss"
  const char* library;  ///< "pytorch-metric-learning"
  /// The part, or several with commas between, the nearest first; a name with
  /// a dot is a key of the configuration.
  const char* kith;
  const char* note = "";  ///< What differs, if anything does.
};

/// All that are known, by kind and library. They may differ from kith's part in
/// defaults: what they name is the same idea.
const std::vector<OtherName>& other_names();

/// What kith calls a part, for an error: "kith calls it 'triplet_all' or
/// 'triplet'". Case, underscores and hyphens do not count. Empty for a name
/// that is not in the table.
std::string kith_calls_it(const std::string& kind, const std::string& name);

}  // namespace kith
