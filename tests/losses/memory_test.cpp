// No loss needs much more memory than a few matrices of the batch's pairs: at
// M examples at most kMatrices M x M float32 numbers, and kSlackMb.

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "kith/core/memory.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/loss_subjects.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr double kMatrices = 6;
constexpr double kSlackMb = 24;  // buffers of libraries, pages of an allocator

double allowed_mb(int64_t m) {
  return kMatrices * static_cast<double>(m * m) * sizeof(float) / (1 << 20) +
         kSlackMb;
}

/// Gives free memory back and sets the high-water mark of resident memory to
/// what is resident now; nothing if this system cannot.
std::optional<int64_t> reset_peak() {
#ifdef __GLIBC__
  // Large blocks go back to the system as soon as they are free: what the
  // allocator would keep is not counted.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << 5 << std::flush;
  const std::optional<int64_t> peak = peak_resident_bytes();
  const std::optional<int64_t> now = resident_bytes();
  constexpr int64_t kPages = 1 << 20;
  if (!peak || !now || *peak > *now + kPages) return std::nullopt;
  return peak;
}

class LossMemory : public ::testing::TestWithParam<LossSubject> {
 protected:
  /// Peak of value and gradient for 4 a class in 128 dimensions, in MB.
  static std::optional<double> extra_mb(int64_t m) {
    const Tensor x = normalize_rows(random_normal({m, 128}, 1, at::kFloat));
    const Tensor labels = torch::arange(m).remainder(m / 4);
    const auto loss =
        make_loss_for("{name: " + GetParam().name + "}", x, m / 4);
    const LossInput input = input_for(*loss, x, labels, GetParam().width);
    const std::optional<int64_t> before = reset_peak();
    differentiate(*loss, input);
    const std::optional<int64_t> after = peak_resident_bytes();
    if (!before || !after) return std::nullopt;
    return static_cast<double>(*after - *before) / (1 << 20);
  }
};

TEST_P(LossMemory, IsAFewMatricesOfPairs) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory of their own";
#endif
  // 300^3 numbers can be had and are too many: nobody asks for 2000^3.
  for (const int64_t m : {300, 2000}) {
    SCOPED_TRACE(m);
    std::optional<double> extra = extra_mb(m);
    // What else becomes resident meanwhile, such as pages of libraries that a
    // busy system had taken, only adds: the least of three counts.
    for (int again = 0; again < 2 && extra && *extra > allowed_mb(m); ++again) {
      extra = std::min(extra, extra_mb(m));
    }
    if (!extra) GTEST_SKIP() << "this system does not tell the peak";
    RecordProperty("extra_mb_" + std::to_string(m), std::to_string(*extra));
    ASSERT_LE(*extra, allowed_mb(m));
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, LossMemory,
                         ::testing::ValuesIn(loss_subjects()),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

}  // namespace
}  // namespace kith
