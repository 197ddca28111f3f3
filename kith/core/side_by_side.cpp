#include "kith/core/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>

#include "kith/core/detail/openblas.h"

namespace kith {
namespace {

/// Gives operations of LibTorch one thread while it lives.
class OneThreadEach {
 public:
  OneThreadEach() : torch_(at::get_num_threads()) {
    at::set_num_threads(1);
    if (openblas_get_num_threads != nullptr &&
        openblas_set_num_threads != nullptr) {
      blas_ = openblas_get_num_threads();
      openblas_set_num_threads(1);
    }
  }
  ~OneThreadEach() {
    at::set_num_threads(torch_);
    if (blas_ > 0) openblas_set_num_threads(blas_);
  }
  OneThreadEach(const OneThreadEach&) = delete;
  OneThreadEach& operator=(const OneThreadEach&) = delete;

 private:
  int torch_;
  int blas_ = 0;
};

}  // namespace

void run_side_by_side(int64_t count, const std::function<void(int64_t)>& work) {
  const auto most = std::min<int64_t>(count, at::get_num_threads());
  const OneThreadEach one_each;
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&] {
    try {
      for (int64_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;  // the others need not go on
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int64_t t = 1; t < most; ++t) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace kith
