// Ranks that send through the CPU, over TCP.
#include <cstdlib>

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO  // else the header is empty
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "kith/distributed/c10d/c10d_rank.h"
#include "kith/distributed/engines.h"

namespace kith {
namespace {

using Gloo = c10d::ProcessGroupGloo;

class GlooRank final : public C10dRank {
 public:
  GlooRank(const RankPlace& place, const JoinOptions& options)
      : C10dRank(place, "gloo", options) {
    auto gloo = Gloo::Options::create();
    // Calls have a time-out of their own; this is how long connecting takes.
    gloo->timeout = options.connect_timeout;
    gloo->devices.push_back(network());
    set_group(c10::make_intrusive<Gloo>(store().for_engine(),
                                        static_cast<int>(place.rank),
                                        static_cast<int>(place.size), gloo));
  }

  std::string engine() const override { return "gloo"; }

 private:
  c10::Device device() const override { return c10::Device(c10::kCPU); }

  /// The network that reaches the store reaches the others too.
  std::shared_ptr<::gloo::transport::Device> network() const {
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    if (interface != nullptr && *interface != '\0') {
      return Gloo::createDeviceForInterface(interface);
    }
    if (store().own_ip().empty()) return Gloo::createDefaultDevice();
    return Gloo::createDeviceForHostname(store().own_ip());
  }

  /// LibTorch's all_gather copies what it got, from this size on with OpenMP.
  /// On gloo's threads, which stay, that makes more threads than there are
  /// cores, and OpenMP then lets all of them sleep at once when they wait: the
  /// whole training was an eighth slower. All to all needs none there.
  void gather_equal(const Tensor& mine, Tensor& all) override {
    constexpr int64_t kParallelBytes = 1 << 15;
    if (mine.numel() < kParallelBytes) {
      C10dRank::gather_equal(mine, all);
      return;
    }
    const std::vector<int64_t> bytes(static_cast<size_t>(size()), mine.numel());
    Blocks blocks{size() == 1 ? mine : mine.repeat({size()}), bytes,
                  all.view({-1}), bytes};
    exchange_blocks(blocks);
  }

  bool is_done(C10dWork& work, std::chrono::milliseconds time) override {
    try {
      return work.wait(time);
    } catch (const std::exception&) {
      // Either the time is over or the work failed.
      if (work.isCompleted()) throw;
      return false;
    }
  }
};

}  // namespace

bool has_gloo() { return true; }

std::unique_ptr<Communicator> join_gloo(const RankPlace& place,
                                        const JoinOptions& options) {
  try {
    return std::make_unique<GlooRank>(place, options);
  } catch (const c10::Error& error) {
    throw RunError("the engine gloo cannot connect rank " +
                   std::to_string(place.rank) + ": " +
                   error.what_without_backtrace());
  } catch (const ::gloo::Exception& error) {
    throw RunError("the engine gloo cannot connect rank " +
                   std::to_string(place.rank) + ": " + error.what());
  }
}

}  // namespace kith
