#pragma once

#include <atomic>

namespace kith {

/// While it lives, the first SIGINT and the first SIGTERM ask a training to
/// stop instead of ending the program; a second one of the same kind ends it at
/// once. A signal that the program was started to ignore stays ignored.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// True once one came.
  const std::atomic<bool>* request() const;

  /// The first that came; 0: none yet.
  int first() const;
};

}  // namespace kith
