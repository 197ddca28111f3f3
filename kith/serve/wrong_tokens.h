#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace kith {

/// Counts wrong tokens by the address they come from, so that a token is not
/// found by trying: an address has kAtOnce tries and then one a second. Safe to
/// use from several threads.
class WrongTokens {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double kAtOnce = 50;

  /// Returns how many are counted then: one more, but one a second less.
  double count(const std::string& address,
               Clock::time_point now = Clock::now());

  /// Whether an address has had all its tries for now.
  bool too_many(const std::string& address,
                Clock::time_point now = Clock::now());

 private:
  struct Tries {
    double count = 0;  ///< Falls by one a second.
    Clock::time_point at;
  };

  static double left_of(const Tries& tries, Clock::time_point now);

  std::mutex mutex_;
  std::map<std::string, Tries> by_address_;
};

}  // namespace kith
