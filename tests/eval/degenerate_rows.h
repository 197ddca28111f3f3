#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "kith/index/rows.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

/// Embeddings that are hard to compare, and where they may come from.
namespace kith {

constexpr int64_t kItems = 40;
constexpr int64_t kDim = 6;
constexpr int64_t kBroken = 8;  ///< In a gallery or a query of every task.

/// Embeddings as somebody has them, and what is to come of them.
struct Case {
  std::string name;
  Tensor rows;            ///< [kItems, kDim] float32 or float64
  std::string in_memory;  ///< What the error says; empty: right numbers.
  std::string from_file;  ///< The same.
};

inline Tensor usual_rows(at::ScalarType type = at::kFloat) {
  return (random_normal({kItems, kDim}, 5) + 0.5).to(type);
}

inline Tensor with_row(float value) {
  Tensor rows = usual_rows();
  rows[kBroken].fill_(value);
  return rows;
}

inline Tensor with_number(float value) {
  Tensor rows = usual_rows();
  rows[kBroken][3] = value;
  return rows;
}

inline std::vector<Case> cases() {
  const Tensor rows = usual_rows();
  const Tensor powers = torch::pow(10., torch::arange(kItems) % 41 - 20);
  return {
      {"as they are", rows, "", ""},
      {"large", rows * 1e20, "", ""},
      {"small", rows * 1e-25, "", ""},
      {"at the end of float32", rows * 5e37, "", ""},
      {"of all lengths", rows * powers.unsqueeze(1).to(at::kFloat), "", ""},
      {"large in float64", usual_rows(at::kDouble) * 1e300, "", ""},
      {"small in float64", usual_rows(at::kDouble) * 1e-300, "", ""},
      {"half precision", (rows * 1e4).to(at::kHalf), "", ""},
      {"all equal", rows[0].expand({kItems, kDim}).contiguous(), "", ""},
      {"each twice", rows.slice(0, 0, kItems / 2).repeat({2, 1}), "", ""},
      {"a NaN", with_number(NAN), "NaN", "has a NaN"},
      {"plus infinity", with_number(INFINITY), "NaN", "has a NaN"},
      {"minus infinity", with_number(-INFINITY), "NaN", "has a NaN"},
      {"a row of NaN", with_row(NAN), "NaN", "has a NaN"},
      // Its similarity with everything is 0; a file says what it is.
      {"a row of zeros", with_row(0), "", "no direction"},
      {"a row next to zero", with_row(1e-42F), "the length 2.4",
       "no direction"},
  };
}

inline std::vector<c10::Device> devices() {
  std::vector<c10::Device> all = {c10::kCPU};
  if (torch::cuda::is_available()) all.emplace_back(c10::kCUDA);
  return all;
}

/// The same embeddings where evaluations get them from.
class Sources {
 public:
  explicit Sources(const Case& c) : rows_(c.rows) {}

  /// As a network's embeddings are, once they are scaled.
  Rows memory(const std::vector<int64_t>& items, c10::Device device) const {
    const Tensor rows = picked(items);
    const bool half = rows.scalar_type() == at::kHalf;
    return normalize_rows(half ? rows.to(at::kFloat) : rows)
        .to(device, at::kFloat);
  }

  /// Of a file that is loaded, or read in blocks if `memory_mb` is 0.
  Rows file(const std::vector<int64_t>& items, c10::Device device,
            int64_t memory_mb) {
    auto [path, is_new] = files_.try_emplace(
        items, folder_.file(std::to_string(files_.size()) + ".npy"));
    if (is_new) save_npy(path->second, picked(items));
    return unit_rows(path->second, memory_mb, device);
  }

  /// In double, a row without direction as zeros.
  Tensor unit() const {
    const Tensor x = rows_.to(torch::kDouble);
    const Tensor largest = x.abs().amax(1, /*keepdim=*/true);
    const Tensor near_one = x / largest.masked_fill(largest == 0, 1);
    return near_one / near_one.norm(2, 1, /*keepdim=*/true).clamp_min(0.5);
  }

 private:
  Tensor picked(const std::vector<int64_t>& items) const {
    return rows_.index_select(0, labels_of(items));
  }

  Tensor rows_;
  TempDir folder_;
  std::map<std::vector<int64_t>, std::string> files_;
};

}  // namespace kith
