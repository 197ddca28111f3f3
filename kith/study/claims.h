#pragma once

#include <string>
#include <vector>

#include "kith/study/results.h"
#include "kith/study/text_table.h"

namespace kith {

/// The list `study.claims`. ConfigError with file and line.
std::vector<StudyClaim> read_claims(const std::vector<ConfigNode>& nodes,
                                    const Study& study);

/// What the runs say of a claim, for one combination of the labels that it
/// leaves open.
struct JudgedClaim {
  const StudyClaim* claim = nullptr;
  Labels open;          ///< Of the axes that it does not name; else empty.
  Spread difference;    ///< Seed by seed, the higher side less the lower.
  double higher = 0.0;  ///< Mean over the same seeds; of a difference of two
  double lower = 0.0;   ///< combinations that difference.
  std::string verdict;  ///< "confirmed", "refuted" or "undecided"
  std::string reason;   ///< Why it is undecided though there are numbers.
};

/// Confirmed if the interval of the difference is above zero, refuted if it is
/// below. Undecided otherwise, and with fewer than three seeds, without a
/// search, or where a training ended below the network it began with or nobody
/// knows.
std::vector<JudgedClaim> judge_claims(const StudyResults& results);

/// A row for each of them.
TextTable claims_table(const StudyResults& results);

/// What the numbers of the table are.
std::string claims_legend();

/// Both; empty without claims.
std::string claims_markdown(const StudyResults& results);

}  // namespace kith
