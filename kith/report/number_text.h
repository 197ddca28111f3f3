#pragma once

#include <cstdint>
#include <string>

namespace kith {

/// What is not known.
constexpr const char* kDash = "–";

/// "97.80%" for a share, else four digits; a dash if it is not finite.
std::string metric_text(double value, bool is_share);

/// "+1.20": the difference of the numbers as they are printed, for readers
/// check such sums; of shares in points.
std::string difference_text(double before, double after, bool is_share);

/// "12.3 ms", "4.2 s", "3 min 20 s", "2 h 05 min".
std::string duration_text(double seconds);

/// "612 MB", "10.3 GB"; a dash for none.
std::string memory_text(int64_t megabytes);

}  // namespace kith
