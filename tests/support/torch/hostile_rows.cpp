#include "tests/support/torch/hostile_rows.h"

#include <cmath>

#include <torch/torch.h>

namespace kith {

std::vector<HostileRows> rows_not_finite(const Tensor& x) {
  std::vector<HostileRows> all;
  const auto add = [&](const std::string& name, double bad) {
    Tensor rows = x.clone();
    rows[4][2] = bad;
    all.push_back({name, rows});
  };
  add("NaN", std::nan(""));
  add("infinity", HUGE_VAL);
  add("-infinity", -HUGE_VAL);
  return all;
}

std::vector<HostileRows> rows_finite(const Tensor& x) {
  const int64_t count = x.size(0);
  const auto with_row = [&](int64_t row, const Tensor& value) {
    Tensor rows = x.clone();
    rows[row] = value;
    return rows;
  };
  const Tensor half = x.slice(0, 0, (count + 1) / 2);
  return {{"a row of zeros", with_row(2, torch::zeros_like(x[2]))},
          {"all zero", torch::zeros_like(x)},
          {"all equal", x[0].expand_as(x).contiguous()},
          {"each row twice", half.repeat({2, 1}).slice(0, 0, count)},
          {"neighbours equal",
           half.repeat_interleave(2, 0).slice(0, 0, count).contiguous()},
          {"huge", x * kHuge},
          {"tiny", x * kTiny},
          {"a huge row", with_row(3, x[3] * kHuge)},
          {"a tiny row", with_row(3, x[3] * kTiny)}};
}

std::vector<c10::Device> test_devices() {
  std::vector<c10::Device> all = {at::kCPU};
  if (torch::cuda::is_available()) all.emplace_back(at::kCUDA);
  return all;
}

}  // namespace kith
