#pragma once

// What differs between the versions of LibTorch that kith is built with (1.13
// and 2.x), and nothing else.

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/version.h>

#define KITH_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||       \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace kith {

/// While it lives, operators on CUDA tensors compute in bfloat16 where that is
/// known to be safe (LibTorch's autocast), or do not. The state before comes
/// back at the end. Of this thread only.
class Autocast {
 public:
  explicit Autocast(bool enabled)
      : enabled_before_(is_enabled()), type_before_(type()) {
    at::autocast::increment_nesting();
    set(enabled, at::kBFloat16);
  }

  ~Autocast() {
    // The weights in bfloat16 are kept within the outermost scope only: they
    // change with the next step of the optimiser.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    set(enabled_before_, type_before_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

#if KITH_TORCH_AT_LEAST(2, 4)
  static bool is_enabled() {
    return at::autocast::is_autocast_enabled(at::kCUDA);
  }
  static bool is_bfloat16() { return is_enabled() && type() == at::kBFloat16; }

 private:
  static at::ScalarType type() {
    return at::autocast::get_autocast_dtype(at::kCUDA);
  }
  static void set(bool enabled, at::ScalarType type) {
    at::autocast::set_autocast_enabled(at::kCUDA, enabled);
    at::autocast::set_autocast_dtype(at::kCUDA, type);
  }
#else
  static bool is_enabled() { return at::autocast::is_enabled(); }
  static bool is_bfloat16() { return is_enabled() && type() == at::kBFloat16; }

 private:
  static at::ScalarType type() {
    return at::autocast::get_autocast_gpu_dtype();
  }
  static void set(bool enabled, at::ScalarType type) {
    at::autocast::set_enabled(enabled);
    at::autocast::set_autocast_gpu_dtype(type);
  }
#endif

  bool enabled_before_;
  at::ScalarType type_before_;
};

/// softmax(q k^T / sqrt(d)) v for each picture and head. [N, heads, T, d] each;
/// LibTorch 2 has it fused, without the [T, T] matrices.
inline at::Tensor attention(const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v) {
#if KITH_TORCH_AT_LEAST(2, 0)
  return at::scaled_dot_product_attention(q, k, v);
#else
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  return at::matmul(at::matmul(q * scale, k.transpose(-2, -1)).softmax(-1), v);
#endif
}

}  // namespace kith
