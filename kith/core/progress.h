#pragma once

#include <cstdint>
#include <string>

namespace kith {

/// Where long work says how far it is. The library calls it and never prints;
/// the program decides what, if anything, is shown. Calls come from one thread
/// at a time.
class Progress {
 public:
  virtual ~Progress();

  /// Begins a piece of work of `total` items; total <= 0 means unknown.
  virtual void start(const std::string& what, int64_t total) = 0;

  /// `done` items are finished since start() (a running count, not an
  /// increment). `note` is a short free text such as "loss 0.231".
  virtual void advance(int64_t done, const std::string& note) = 0;

  /// Ends the work begun by start(), complete or not.
  virtual void finish() = 0;
};

/// A Progress that does nothing, shared by everybody.
Progress& silent_progress();

}  // namespace kith
