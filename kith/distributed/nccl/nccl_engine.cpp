// Ranks that send from GPU to GPU.
#include <cstdlib>
#include <optional>
#include <thread>

#ifndef USE_C10D_NCCL
#define USE_C10D_NCCL  // else the header is empty
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "kith/distributed/c10d/c10d_rank.h"
#include "kith/distributed/engines.h"

namespace kith {
namespace {

using Nccl = c10d::ProcessGroupNCCL;

/// While it lives, a variable of the environment has another value.
class OtherValue {
 public:
  OtherValue(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    ::setenv(name, value, 1);
  }
  ~OtherValue() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  OtherValue(const OtherValue&) = delete;
  OtherValue& operator=(const OtherValue&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

c10::intrusive_ptr<Nccl> make_group(
    const c10::intrusive_ptr<c10d::Store>& store, const RankPlace& place,
    const JoinOptions& options) {
  // c10d reads these once. It would end the process when a rank is lost, as
  // torchrun asks it to, or keep a thread that looks into the store after the
  // rank that keeps it has left; here calls throw, and say who is missing.
  const OtherValue no_end("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0");
  const OtherValue no_end_before_2_2("NCCL_ASYNC_ERROR_HANDLING", "0");
  const OtherValue no_wait("TORCH_NCCL_BLOCKING_WAIT", "0");
  const OtherValue no_wait_before_2_2("NCCL_BLOCKING_WAIT", "0");
  const OtherValue no_monitor("TORCH_NCCL_ENABLE_MONITORING", "0");
  auto nccl = Nccl::Options::create();
  nccl->timeout = options.timeout + std::chrono::minutes(1);
  return c10::make_intrusive<Nccl>(store, static_cast<int>(place.rank),
                                   static_cast<int>(place.size), nccl);
}

class NcclRank final : public C10dRank {
 public:
  NcclRank(const RankPlace& place, const JoinOptions& options)
      : C10dRank(place, "nccl", options), device_(options.device) {
    // Tensors say "cuda:0", and copies compare devices.
    if (!device_.has_index()) device_ = c10::Device(c10::kCUDA, 0);
    nccl_ = make_group(store().for_engine(), place, options);
    set_group(nccl_);
  }

  ~NcclRank() override {
    leave();
    if (is_lost()) {
      // Destroying it would wait for work that never ends.
      static_cast<void>(nccl_.release());
      return;
    }
#if KITH_TORCH_AT_LEAST(2, 2)
    try {
      nccl_->shutdown();
    } catch (...) {
      // All calls are done.
    }
#endif
  }

  std::string engine() const override { return "nccl"; }

 private:
  c10::Device device() const override { return device_; }

  void gather_equal(const Tensor& mine, Tensor& all) override {
    c10d::AllgatherOptions options;
    options.timeout = engine_timeout();
    Tensor in = mine;
    Tensor out = all.view({-1});
    finish(*nccl_->_allgather_base(out, in, options));
  }

  /// wait() of NCCL's work only makes the GPU wait, so that a rank that is gone
  /// would not be noticed; a single rank needs no more. An exchange takes
  /// microseconds: look often, at first.
  bool is_done(C10dWork& work, std::chrono::milliseconds time) override {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    while (size() > 1 && !work.isCompleted()) {
      const auto waited = Clock::now() - begin;
      if (waited > time) return false;
      if (waited > std::chrono::milliseconds(2)) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      } else {
        std::this_thread::yield();
      }
    }
    const std::exception_ptr error = work.exception();
    if (error) std::rethrow_exception(error);
    work.wait();
    return true;
  }

  c10::Device device_;
  c10::intrusive_ptr<Nccl> nccl_;
};

}  // namespace

bool has_nccl() { return true; }

std::unique_ptr<Communicator> join_nccl(const RankPlace& place,
                                        const JoinOptions& options) {
  try {
    return std::make_unique<NcclRank>(place, options);
  } catch (const c10::Error& error) {
    throw RunError("the engine nccl cannot start rank " +
                   std::to_string(place.rank) + ": " +
                   error.what_without_backtrace());
  }
}

}  // namespace kith
