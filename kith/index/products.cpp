#include "kith/index/products.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/ops/cpu_level.h"
#include "kith/ops/finite.h"
#include "kith/ops/gpu.h"

namespace kith {

const RankKernels& rank_kernels(const c10::Device& device) {
  if (device.is_cuda()) return cuda_ranks;
  switch (cpu_level()) {
    case CpuLevel::kPlain:
      return plain_ranks;
    case CpuLevel::kAvx2:
      return avx2_ranks;
    case CpuLevel::kAvx512:
      return avx512_ranks;
  }
  return plain_ranks;
}

Tensor row_lengths(const Tensor& rows) {
  // In blocks, for some versions of LibTorch copy the rows to double.
  const int64_t step = std::max<int64_t>((int64_t{1} << 22) / rows.size(1), 1);
  Tensor lengths =
      torch::empty({rows.size(0)}, rows.options().dtype(at::kDouble));
  for (int64_t i = 0; i < rows.size(0); i += step) {
    lengths.slice(0, i, i + step)
        .copy_(rows.slice(0, i, i + step)
                   .norm(2, {1}, /*keepdim=*/false, at::kDouble));
  }
  return lengths;
}

double longest_row(const Tensor& rows, const char* what, int64_t first) {
  if (rows.size(0) == 0) return 0;
  // Products of two such lengths are far from the ends of float32.
  constexpr double kMost = 1e15;
  const Tensor lengths = row_lengths(rows);
  const Tensor right = (lengths <= kMost)
                           .logical_and(  // not if it is NaN
                               (lengths >= 1 / kMost).logical_or(lengths == 0));
  const Tensor found =
      torch::stack({lengths.max(), right.all().to(at::kDouble)}).cpu();
  if (found[1].item<double>() == 1) return found[0].item<double>();
  const int64_t bad = right.logical_not().nonzero()[0][0].item<int64_t>();
  const std::string name =
      std::string(what) + " " + std::to_string(first + bad);
  if (!all_finite(rows[bad])) {
    throw DataError(name + " has a NaN or infinite value");
  }
  std::ostringstream length;
  length << lengths[bad].item<double>();
  throw DataError(name + " has the length " + length.str() +
                  ": float32 cannot hold its products; scale the rows to "
                  "length 1");
}

Tensor product_errors(const Tensor& rows) {
  constexpr double kUnit = 1.0 / (1 << 24);
  return row_lengths(rows) *
         (1.01 * kUnit * static_cast<double>(rows.size(1) + 4));
}

Tensor exact_similarities(const Tensor& x, const Tensor& y, const Tensor& x_row,
                          const Tensor& y_row) {
  const c10::Device device = x.device();
  const Tensor found = torch::empty({x_row.size(0)}, x.options());
  const RowPairs pairs{x.data_ptr<float>(),
                       y.data_ptr<float>(),
                       x.size(1),
                       x_row.data_ptr<int64_t>(),
                       y_row.data_ptr<int64_t>(),
                       found.data_ptr<float>()};
  const RankKernels& kernels = rank_kernels(device);
  if (device.is_cuda()) {
    const c10::DeviceGuard guard(device);
    kernels.similarities(pairs, {0, x_row.size(0), current_stream()});
    return found;
  }
  at::parallel_for(0, x_row.size(0), 64, [&](int64_t begin, int64_t end) {
    kernels.similarities(pairs, {begin, end, nullptr});
  });
  return found;
}

}  // namespace kith
