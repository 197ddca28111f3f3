#pragma once

#include <string>

#include "kith/core/options.h"

namespace kith {

/// The option `reduction` of losses that are a mean over given tuples, which
/// it calls as they are called: "triplets".
inline void describe_reduction(OptionSet& set, std::string& reduction,
                               const std::string& tuples) {
  set.add("reduction", reduction,
          "Mean over all " + tuples +
              ", or over the active ones (with a positive term).")
      .choices({"all", "active"});
}

}  // namespace kith
