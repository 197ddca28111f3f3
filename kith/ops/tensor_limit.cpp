#include "kith/ops/tensor_limit.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include <c10/core/CPUAllocator.h>

#include "kith/core/error.h"
#include "kith/core/torch_compat.h"
#include "kith/ops/kept_memory.h"

namespace kith {
namespace {

thread_local TensorLimit* tensor_limit = nullptr;

/// Asks the thread's limit first, and takes the memory from the allocator that
/// was there before. It is never destroyed, for tensors may be there until the
/// process ends.
class LimitedAllocator final : public c10::Allocator {
 public:
  static void install() {
    [[maybe_unused]] static LimitedAllocator* const self = [] {
      // Above this limit its blocks would be handed out without being counted.
      const KeptMemory below;
      auto* made = new LimitedAllocator(c10::GetCPUAllocator());
      c10::SetCPUAllocator(made);
      return made;
    }();
  }

#if KITH_TORCH_AT_LEAST(2, 3)
  c10::DataPtr allocate(size_t bytes) override { return get(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override { return get(bytes); }
#endif

  c10::DeleterFnPtr raw_deleter() const override {
    return inner_->raw_deleter();
  }

 private:
  explicit LimitedAllocator(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr get(size_t bytes) const {
    if (tensor_limit != nullptr) tensor_limit->take(bytes);
    return inner_->allocate(bytes);
  }

  c10::Allocator* inner_;
};

}  // namespace

TensorLimit::TensorLimit(uint64_t bytes, std::string what)
    : left_(bytes), what_(std::move(what)), outer_(tensor_limit) {
  LimitedAllocator::install();
  tensor_limit = this;
}

TensorLimit::~TensorLimit() { tensor_limit = outer_; }

void TensorLimit::take(uint64_t bytes) {
  if (bytes > left_) throw DataError(what_);
  left_ -= bytes;
}

}  // namespace kith
