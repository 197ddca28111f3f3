#include "kith/serve/wrong_tokens.h"

#include <algorithm>

namespace kith {
namespace {

/// Addresses that are kept account of; with more, the counts of those that did
/// not try for a while are dropped, and if there is none all of them.
constexpr size_t kAddresses = 10'000;

}  // namespace

double WrongTokens::left_of(const Tries& tries, Clock::time_point now) {
  const std::chrono::duration<double> passed = now - tries.at;
  return std::max(0.0, tries.count - passed.count());
}

double WrongTokens::count(const std::string& address, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (by_address_.size() >= kAddresses && !by_address_.contains(address)) {
    std::erase_if(by_address_, [now](const auto& entry) {
      return left_of(entry.second, now) == 0;
    });
    if (by_address_.size() >= kAddresses) by_address_.clear();
  }
  Tries& tries = by_address_[address];
  tries.count = std::min(left_of(tries, now) + 1, kAtOnce);
  tries.at = now;
  return tries.count;
}

bool WrongTokens::too_many(const std::string& address, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto found = by_address_.find(address);
  return found != by_address_.end() &&
         left_of(found->second, now) > kAtOnce - 1;
}

}  // namespace kith
