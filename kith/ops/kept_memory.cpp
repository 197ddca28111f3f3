#include "kith/ops/kept_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
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

/// What came from the system at once.
struct Block {
  void* data;
  size_t bytes;
  int64_t returned;  ///< When a part of it came back last.
};

/// A part of a block, mostly all of it.
struct Part {
  std::shared_ptr<Block> of;
  size_t bytes;
  size_t wanted;  ///< By whom it was given to.

  bool is_whole() const { return bytes == of->bytes; }
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
    release_beyond(0, released);
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
      for (void* block : blocks) from.inner_->raw_deallocate(block);
    }
    KeepingAllocator& from;
    std::vector<void*> blocks;
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
      most_ = std::max(most_, wanted_bytes_ + bytes);
      auto part = find(bytes, bytes + bytes / 8);
      if (part == kept_.end() && is_too_much(bytes)) {
        part = find(bytes, std::numeric_limits<size_t>::max());
        if (part != kept_.end()) split(part, bytes);
      }
      if (part != kept_.end()) return take(part, bytes);
      release_beyond(bytes, released);
    }
    void* data = inner_->raw_allocate(bytes);
    const std::lock_guard lock(mutex_);
    all_bytes_ += bytes;
    kept_bytes_ += bytes;
    const auto block = std::make_shared<Block>(Block{data, bytes, clock_});
    return take(
        kept_.emplace(static_cast<char*>(data), Part{block, bytes, 0}).first,
        bytes);
  }

  void give_back(void* data) {
    Released released(*this);
    if (given_out_ == 0) return inner_->raw_deallocate(data);
    const std::lock_guard lock(mutex_);
    const auto found = in_use_.find(data);
    if (found == in_use_.end()) {
      released.blocks.push_back(data);
      return;
    }
    --given_out_;
    wanted_bytes_ -= found->second.wanted;
    kept_bytes_ += found->second.bytes;
    found->second.of->returned = ++clock_;
    const auto part =
        kept_.emplace(static_cast<char*>(data), std::move(found->second)).first;
    in_use_.erase(found);
    join(part, std::next(part));
    if (part != kept_.begin()) join(std::prev(part), part);
    release_beyond(0, released);
  }

  using Parts = std::map<char*, Part>;

  /// The smallest part of at least and at most so many bytes.
  Parts::iterator find(size_t least, size_t most) {
    auto best = kept_.end();
    for (auto part = kept_.begin(); part != kept_.end(); ++part) {
      const size_t bytes = part->second.bytes;
      if (bytes < least || bytes > most) continue;
      if (best == kept_.end() || bytes < best->second.bytes) best = part;
    }
    return best;
  }

  /// Leaves a part of `bytes` and a few more.
  void split(Parts::iterator part, size_t bytes) {
    constexpr size_t kPage = 4096;
    const size_t first = (bytes + kPage - 1) / kPage * kPage;
    if (part->second.bytes < first + kSmallestKept) return;
    Part rest = part->second;
    rest.bytes -= first;
    part->second.bytes = first;
    kept_.emplace(part->first + first, std::move(rest));
  }

  /// Makes one of two that lie behind each other.
  void join(Parts::iterator part, Parts::iterator next) {
    if (next == kept_.end() || part->second.of != next->second.of ||
        part->first + part->second.bytes != next->first) {
      return;
    }
    part->second.bytes += next->second.bytes;
    kept_.erase(next);
  }

  void* take(Parts::iterator part, size_t wanted) {
    void* data = part->first;
    part->second.wanted = wanted;
    kept_bytes_ -= part->second.bytes;
    wanted_bytes_ += wanted;
    ++given_out_;
    in_use_.emplace(data, std::move(part->second));
    kept_.erase(part);
    return data;
  }

  /// With so many bytes more from the system.
  bool is_too_much(size_t more) const {
    return all_bytes_ + more > most_ + most_ / 2;
  }

  /// Releases what is free and too much, the oldest first.
  void release_beyond(size_t more, Released& released) {
    while (is_too_much(more)) {
      auto oldest = kept_.end();
      for (auto part = kept_.begin(); part != kept_.end(); ++part) {
        if (!part->second.is_whole()) continue;
        if (oldest == kept_.end() ||
            part->second.of->returned < oldest->second.of->returned) {
          oldest = part;
        }
      }
      if (oldest == kept_.end()) return;
      all_bytes_ -= oldest->second.bytes;
      kept_bytes_ -= oldest->second.bytes;
      released.blocks.push_back(oldest->first);
      kept_.erase(oldest);
    }
  }

  c10::Allocator* inner_;
  std::mutex mutex_;
  int64_t users_ = 0;
  int64_t clock_ = 0;
  Parts kept_;  ///< By address.
  /// What was given out while there were users.
  std::unordered_map<void*, Part> in_use_;
  std::atomic<size_t> given_out_ = 0;  ///< Parts of it.
  size_t all_bytes_ = 0;               ///< Of blocks.
  size_t kept_bytes_ = 0;
  size_t wanted_bytes_ = 0;  ///< Of what is in use.
  size_t most_ = 0;          ///< Of that, at once.
};

}  // namespace

KeptMemory::KeptMemory() { KeepingAllocator::installed().begin(); }
KeptMemory::~KeptMemory() { KeepingAllocator::installed().end(); }

int64_t kept_bytes() { return KeepingAllocator::installed().kept(); }

}  // namespace kith
