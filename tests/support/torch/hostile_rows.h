#pragma once

#include <string>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// Scales at which squares of float32 overflow and vanish. Powers of two, for
/// multiplying by them rounds nothing.
inline constexpr double kHuge = 0x1p67;   // 1.5e20
inline constexpr double kTiny = 0x1p-84;  // 5.2e-26

/// Embeddings that tests of every loss, miner, sampler and index feed to them.
struct HostileRows {
  std::string name;
  Tensor x;
};

/// x [N, D], at least 5 by 3, with row 4 spoilt: a NaN and both infinities.
std::vector<HostileRows> rows_not_finite(const Tensor& x);

/// x with rows of zeros, equal rows, and all or one of them huge or tiny.
std::vector<HostileRows> rows_finite(const Tensor& x);

/// The CPU, and a GPU if there is one.
std::vector<c10::Device> test_devices();

}  // namespace kith
