#pragma once

#include <cstdint>
#include <string>

namespace kith {

/// How numbers are written for people, in reports, tables and logs. What only
/// programs read (JSON) has all digits and is written elsewhere.

/// What is not known, in a page.
constexpr const char* kDash = "–";

/// Fixed-point text that does not depend on the locale: "-1.50". A real minus
/// sign is not used, so the result is also a valid SVG or CSS number. Values
/// that are not finite give "nan", "inf" or "-inf".
std::string format_fixed(double value, int decimals);

/// As many significant digits as there are up to `digits`, in any locale:
/// "0.25", "1e-05".
std::string format_general(double value, int digits);

/// A number by a pattern of printf.
std::string format_number(const char* pattern, double value);

/// How a value of a metric is written.
struct MetricStyle {
  const char* unknown = kDash;  ///< For a value that is not defined.
  const char* percent = "%";    ///< Behind a share; a table may leave it out.
  bool shows_infinite = false;  ///< As "inf"; otherwise it is unknown too.
};

/// On a terminal.
constexpr MetricStyle kPlainStyle{"-", "%", true};
/// In a table that says above or below that shares are in percent.
constexpr MetricStyle kTableStyle{"-", "", true};

/// "97.80%" for a share, else four significant digits.
std::string metric_text(double value, bool is_share,
                        const MetricStyle& style = {});

/// "82.31 ± 0.45", or the value alone if `half_width` is NaN. The sign, with
/// spaces around it, is the format's.
std::string plus_minus_text(double value, double half_width, bool is_share,
                            const std::string& plus_minus,
                            const MetricStyle& style = kTableStyle);

/// "97.8012" in a CSV: four decimals, of a share in percent; empty if the value
/// is not defined.
std::string csv_number(double value, bool is_share);

/// "+1.20": a change of a metric's value; of shares in points.
std::string change_text(double change, bool is_share);

/// "+1.20": the difference of the numbers as they are printed, for readers
/// check such sums; of shares in points.
std::string difference_text(double before, double after, bool is_share);

/// "1.0e-04": a learning rate.
std::string rate_text(double rate);

/// "12.3 ms", "4.2 s", "3 min 20 s", "2 h 05 min".
std::string duration_text(double seconds);

/// "45 s", "12 min", "3 h 20 min": an estimate.
std::string rough_duration_text(double seconds);

/// "612 MB", "10.3 GB"; a dash for none.
std::string memory_text(int64_t megabytes);

}  // namespace kith
