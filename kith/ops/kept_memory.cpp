#include "kith/ops/kept_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <c10/core/CPUAllocator.h>

#include "kith/core/torch_compat.h"

namespace kith {
namespace {

/// Smaller blocks malloc() keeps by itself.
constexpr size_t kSmallestKept = 256 << 10;

struct KeptBlock {
  void* data;
  size_t bytes;
};

/// Passes on what another allocator has, and keeps what comes back. It is never
/// destroyed, for tensors may be there until the process ends.
class KeepingAllocator final : public c10::Allocator {
 public:
  /// Takes the place of the allocator that tensors on the CPU have now, if that
  /// is one whose memory needs no more than its address to be given back.
  static KeepingAllocator& installed() {
    static KeepingAllocator* const self = [] {
      auto* made = new KeepingAllocator(c10::GetCPUAllocator());
      if (made->inner_->raw_deleter() != nullptr) c10::SetCPUAllocator(made);
      return made;
    }();
    return *self;
  }

#if KITH_TORCH_AT_LEAST(2, 3)
  c10::DataPtr allocate(size_t bytes) override { return get(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override {
    return const_cast<KeepingAllocator*>(this)->get(bytes);
  }
#endif

  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* data) { installed().give_back(data); };
  }

  void begin() {
    const std::lock_guard lock(mutex_);
    ++users_;
  }

  void end() {
    Released released(*this);
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
    most_ = 0;
    kept_bytes_ = 0;
    released.blocks.swap(kept_);
  }

  int64_t kept() {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(kept_bytes_);
  }

 private:
  /// Blocks that go back to where they came from: outside of the lock, for that
  /// takes long.
  struct Released {
    explicit Released(KeepingAllocator& allocator) : from(allocator) {}
    ~Released() {
      for (const KeptBlock& b : blocks) from.inner_->raw_deallocate(b.data);
    }
    KeepingAllocator& from;
    std::vector<KeptBlock> blocks;
  };

  explicit KeepingAllocator(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr get(size_t bytes) {
    void* data =
        bytes < kSmallestKept ? inner_->raw_allocate(bytes) : get_large(bytes);
    return {data, data, raw_deleter(), c10::Device(c10::kCPU)};
  }

  void* get_large(size_t bytes) {
    {
      Released released(*this);
      const std::lock_guard lock(mutex_);
      if (users_ == 0) return inner_->raw_allocate(bytes);
      const auto block = find(bytes);
      if (block != kept_.end()) {
        const KeptBlock taken = *block;
        kept_.erase(block);
        kept_bytes_ -= taken.bytes;
        count(taken);
        return taken.data;
      }
      release_beyond(in_use_bytes_ + bytes, released);
    }
    const KeptBlock made{inner_->raw_allocate(bytes), bytes};
    const std::lock_guard lock(mutex_);
    count(made);
    return made.data;
  }

  void give_back(void* data) {
    Released released(*this);
    if (given_out_ == 0) return inner_->raw_deallocate(data);
    const std::lock_guard lock(mutex_);
    const auto found = in_use_.find(data);
    const KeptBlock block{data, found == in_use_.end() ? 0 : found->second};
    if (found != in_use_.end()) {
      in_use_.erase(found);
      in_use_bytes_ -= block.bytes;
      --given_out_;
    }
    if (block.bytes == 0 || users_ == 0) {
      released.blocks.push_back(block);
      return;
    }
    kept_.push_back(block);
    kept_bytes_ += block.bytes;
    release_beyond(in_use_bytes_, released);
  }

  void count(const KeptBlock& block) {
    in_use_.emplace(block.data, block.bytes);
    in_use_bytes_ += block.bytes;
    most_ = std::max(most_, in_use_bytes_);
    ++given_out_;
  }

  /// The smallest block that is large enough, of several the last that came
  /// back; but none of which a good part would lie idle.
  std::vector<KeptBlock>::iterator find(size_t bytes) {
    auto best = kept_.end();
    for (auto block = kept_.begin(); block != kept_.end(); ++block) {
      const bool fits =
          block->bytes >= bytes && block->bytes - bytes <= bytes / 8;
      if (fits && (best == kept_.end() || block->bytes <= best->bytes)) {
        best = block;
      }
    }
    return best;
  }

  /// What is too much beside so many bytes in use, the oldest first.
  void release_beyond(size_t in_use, Released& released) {
    const size_t most = std::max(most_, in_use);
    auto end = kept_.begin();
    while (end != kept_.end() && in_use + kept_bytes_ > most + most / 2) {
      kept_bytes_ -= end->bytes;
      ++end;
    }
    released.blocks.insert(released.blocks.end(), kept_.begin(), end);
    kept_.erase(kept_.begin(), end);
  }

  c10::Allocator* inner_;
  std::mutex mutex_;
  int64_t users_ = 0;
  std::vector<KeptBlock> kept_;  ///< In the order in which they came back.
  size_t kept_bytes_ = 0;
  /// What was given out while there were users, by its address.
  std::unordered_map<void*, size_t> in_use_;
  std::atomic<size_t> given_out_ = 0;  ///< Blocks of it.
  size_t in_use_bytes_ = 0;
  size_t most_ = 0;  ///< Bytes of it, at once.
};

}  // namespace

KeptMemory::KeptMemory() { KeepingAllocator::installed().begin(); }
KeptMemory::~KeptMemory() { KeepingAllocator::installed().end(); }

int64_t kept_bytes() { return KeepingAllocator::installed().kept(); }

}  // namespace kith
