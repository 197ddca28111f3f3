#include "kith/ops/locked_pieces.h"

#include <map>
#include <mutex>
#include <vector>

#include <sys/mman.h>

#include "kith/ops/upload.h"

namespace kith {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kSmallestPage = 4096;

/// Memory whose pages are all there; null if there is none. That they come to
/// be here, and not when the driver locks them, lets threads do it together.
uint8_t* map_pages(size_t bytes) {
  void* const mapped =
      ::mmap(nullptr, bytes + kLargePage, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  // Large pages begin at multiples of their size.
  auto* const begin = static_cast<uint8_t*>(mapped);
  const size_t before =
      (kLargePage - reinterpret_cast<uintptr_t>(begin) % kLargePage) %
      kLargePage;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + bytes, kLargePage - before);
#ifdef MADV_HUGEPAGE
  ::madvise(begin + before, bytes, MADV_HUGEPAGE);  // a wish
#endif
  for (size_t at = 0; at < bytes; at += kSmallestPage) begin[before + at] = 0;
  return begin + before;
}

/// Never destroyed: pieces may come back until the process ends.
class LockedPool {
 public:
  static LockedPool& instance() {
    static auto* const self = new LockedPool;
    return *self;
  }

  /// Null: memory cannot be locked.
  uint8_t* take(size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      std::vector<uint8_t*>& free = free_[bytes];
      if (!free.empty()) {
        uint8_t* const piece = free.back();
        free.pop_back();
        return piece;
      }
    }
    uint8_t* const piece = map_pages(bytes);
    if (piece == nullptr || lock_pages(piece, bytes)) return piece;
    ::munmap(piece, bytes);
    return nullptr;
  }

  void give_back(uint8_t* piece, size_t bytes) {
    const std::lock_guard lock(mutex_);
    free_[bytes].push_back(piece);
  }

 private:
  std::mutex mutex_;
  std::map<size_t, std::vector<uint8_t*>> free_;  ///< By size.
};

}  // namespace

std::shared_ptr<uint8_t[]> locked_piece(size_t bytes) {
  bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  uint8_t* const piece = LockedPool::instance().take(bytes);
  if (piece == nullptr) return page_locked(bytes);
  return {piece, [bytes](uint8_t* data) {
            LockedPool::instance().give_back(data, bytes);
          }};
}

}  // namespace kith
