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

  /// What a piece of work that is part of a longer one adds to its count.
  struct Pace {
    std::string unit = {};  ///< What items are made of: "images" of steps.
    double units = 1;       ///< In an item.
    int64_t begun = 0;      ///< Items that were done before start().
    int64_t after = 0;      ///< Items in pieces that follow this one.
  };

  /// Begins a piece of work of `total` items; total <= 0 means unknown.
  virtual void start(const std::string& what, int64_t total) = 0;

  /// `done` items are finished since start() (a running count, not an
  /// increment). `note` is a short free text such as "loss 0.231".
  virtual void advance(int64_t done, const std::string& note) = 0;

  /// Ends the work begun by start(), complete or not.
  virtual void finish() = 0;

  /// After start(): speed is told in units, and the time left is that of all
  /// pieces.
  virtual void set_pace(const Pace& pace);
};

/// A Progress that does nothing, shared by everybody.
Progress& silent_progress();

}  // namespace kith
