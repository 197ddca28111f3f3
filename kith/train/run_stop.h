#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

#include "kith/core/progress.h"

namespace kith {

/// A request to stop a training, which anybody may make at any time: another
/// thread, or the handler of a signal. The training writes a checkpoint after
/// the step that is being taken, or at once within an evaluation, and throws
/// RunStopped. A null pointer asks for nothing.
using StopRequest = const std::atomic<bool>*;

static_assert(std::atomic<bool>::is_always_lock_free);

/// A training that stopped because it was asked to. No failure: it can be
/// resumed, to the same numbers as if it had not stopped.
class RunStopped : public std::runtime_error {
 public:
  explicit RunStopped(int64_t step)
      : std::runtime_error("stopped after step " + std::to_string(step) +
                           ", as asked"),
        step_(step) {}

  int64_t step() const { return step_; }

 private:
  int64_t step_;
};

/// Ends the work it is told of by StopSeen once a stop is asked for.
struct StopSeen {};

/// Passes on what it is told; throws StopSeen from advance() once a stop is
/// asked for.
class StoppableProgress final : public Progress {
 public:
  StoppableProgress(Progress& inner, StopRequest stop)
      : inner_(inner), stop_(stop) {}

  void start(const std::string& what, int64_t total) override {
    inner_.start(what, total);
  }
  void advance(int64_t done, const std::string& note) override {
    inner_.advance(done, note);
    if (stop_ == nullptr || !*stop_) return;
    inner_.finish();
    throw StopSeen();
  }
  void finish() override { inner_.finish(); }
  void set_pace(const Pace& pace) override { inner_.set_pace(pace); }

 private:
  Progress& inner_;
  StopRequest stop_;
};

}  // namespace kith
