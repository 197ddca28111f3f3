#pragma once

#include <string>
#include <vector>

#include "kith/core/progress.h"
#include "kith/train/run_config.h"

namespace kith {

/// A run of nine steps on pictures of 16 x 16: three epochs of three batches of
/// 16, with augmentation, warm-up, and an evaluation after each epoch.
/// `changes` are assignments such as "loss.t2=0.1".
RunConfig tiny_config(const std::vector<std::string>& changes = {});

/// The kill of a run: thrown by the progress below.
struct Interrupted {};

/// Throws at the call with this number (from 0); counts calls.
class InterruptingProgress final : public Progress {
 public:
  explicit InterruptingProgress(int at = -1) : at_(at) {}

  void start(const std::string&, int64_t) override { count(); }
  void advance(int64_t, const std::string&) override { count(); }
  void finish() override { count(); }

  int calls() const { return calls_; }

 private:
  void count() {
    if (calls_++ == at_) throw Interrupted();
  }

  int at_;
  int calls_ = 0;
};

}  // namespace kith
