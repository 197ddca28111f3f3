#pragma once

// What the program for compute-sanitizer is made of: checks that register
// themselves, as losses do, and memory that host and GPU both see.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "kith/ops/bf16.h"
#include "kith/ops/cuda/launch.cuh"

namespace kith::racecheck {

struct Check {
  std::string name;
  bool (*run)();  ///< Whether the results are right.
};

/// In the order in which they were added.
std::vector<Check>& checks();

inline bool add_check(const std::string& name, bool (*run)()) {
  checks().push_back({name, run});
  return true;
}

template <class T>
double as_double(T x) {
  return static_cast<double>(x);
}
inline double as_double(Bf16 x) { return widen(x); }

/// Zeros at first.
template <class T>
class Shared {
 public:
  explicit Shared(int64_t count) : count_(count > 0 ? count : 1) {
    check_cuda(cudaMallocManaged(&data_, bytes()), "cudaMallocManaged");
    std::memset(static_cast<void*>(data_), 0, bytes());
  }
  ~Shared() { cudaFree(data_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }
  /// Equal but for rounding, and no NaN: what is added up in another order may
  /// be off by 1e-4 (double: 1e-10) of the largest number, and in bfloat16 by
  /// one step of its own more.
  bool is_close_to(const Shared& other) const {
    constexpr double kOfLargest = std::is_same_v<T, double> ? 1e-10 : 1e-4;
    constexpr double kStep = std::is_same_v<T, Bf16> ? 1.0 / 128 : 0;
    double largest = 0;
    for (int64_t i = 0; i < count_; ++i) {
      largest = std::max(largest, std::abs(as_double(other.data_[i])));
    }
    for (int64_t i = 0; i < count_; ++i) {
      const double expected = as_double(other.data_[i]);
      const double away = std::abs(as_double(data_[i]) - expected);
      if (!(away <= kOfLargest * largest + kStep * std::abs(expected))) {
        return false;
      }
    }
    return true;
  }

 private:
  size_t bytes() const { return static_cast<size_t>(count_) * sizeof(T); }

  int64_t count_;
  T* data_ = nullptr;
};

/// After a kernel: waits, and throws if it failed.
inline void finish() { check_cuda(cudaDeviceSynchronize(), "a kernel"); }

/// Numbers in -0.9 to 0.9, the same for the same seed.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed * 2654435761u + 1) {}
  double next() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<double>(state_ >> 8) / (1 << 24) * 1.8 - 0.9;
  }

 private:
  uint32_t state_;
};

/// Such numbers times `scale`, as T has them.
template <class T>
void draw_numbers(const Shared<T>& to, int64_t count, uint32_t seed,
                  double scale = 1) {
  Numbers numbers(seed);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = narrow<T>(static_cast<Sum<T>>(scale * numbers.next()));
  }
}

/// Rows sorted by label in classes of these sizes, as the row engine lays them
/// out.
struct Classes {
  int64_t count = 0;
  int64_t slots = 0;
  std::vector<int64_t> first, last, slot;

  explicit Classes(const std::vector<int64_t>& sizes) {
    for (const int64_t size : sizes) {
      for (int64_t i = 0; i < size; ++i) {
        first.push_back(count);
        last.push_back(count + size);
        slot.push_back(slots);
        slots += size;
      }
      count += size;
    }
  }
};

inline void fill(const Shared<int64_t>& to, const std::vector<int64_t>& from) {
  for (size_t i = 0; i < from.size(); ++i) {
    to[static_cast<int64_t>(i)] = from[i];
  }
}

}  // namespace kith::racecheck
