#pragma once

#include "kith/distributed/communicator.h"

namespace kith {

/// The ranks that are named, or this one alone.
inline Communicator& or_alone(Communicator* ranks) {
  return ranks == nullptr ? alone() : *ranks;
}

/// To be called where an exception is caught: the others are told why this rank
/// does not come to the next call; not of a RankError, which all know of. They
/// are told once, however often it is caught on its way.
void tell_of_exception(Communicator& ranks) noexcept;

/// What f() gives. If it throws, whatever that is, the others do not wait for
/// this rank: their next call is a RankError.
template <class F>
auto telling(Communicator& ranks, const F& f) {
  if (ranks.is_alone()) return f();
  try {
    return f();
  } catch (...) {
    tell_of_exception(ranks);
    throw;
  }
}

}  // namespace kith
