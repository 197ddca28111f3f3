#include "kith/models/vit_positions.h"

#include <cmath>

#include <torch/torch.h>

#include "kith/core/torch_compat.h"

namespace kith {
namespace {

/// [to, from], by which a line of `from` positions becomes one of `to`.
Tensor bicubic_matrix(int64_t from, int64_t to, const std::string& method,
                      const at::TensorOptions& like) {
  const torch::NoGradGuard no_grad;
  // As many lines as positions, each with a one at another place. They lie
  // along the width: with antialias LibTorch 2 leaves maps of width 1 as wrong
  // numbers (seen in 2.6 and 2.11).
  const Tensor lines = torch::eye(from, like).view({1, from, 1, from});
  Tensor resized;
  if (method == "antialias") {
    resized = at::_upsample_bicubic2d_aa(lines, {1, to}, false);
  } else if (method == "offset") {
    const double scale =
        (static_cast<double>(to) + 0.1) / static_cast<double>(from);
    resized = at::upsample_bicubic2d(lines, {1, to}, false, 1.0, scale);
  } else {
    resized = at::upsample_bicubic2d(lines, {1, to}, false);
  }
  return resized.view({from, to}).t();
}

}  // namespace

Tensor resize_positions(const Tensor& positions, int64_t prefix, int64_t rows,
                        int64_t columns, const std::string& method) {
  const int64_t count = positions.size(1) - prefix;
  const int64_t side = grid_side(count), width = positions.size(2);
  if (rows == side && columns == side) return positions;
  const Autocast full_precision(false);
  const Tensor down = bicubic_matrix(side, rows, method, positions.options());
  const Tensor across =
      bicubic_matrix(side, columns, method, positions.options());
  const Tensor grid = positions.narrow(1, prefix, count);
  const Tensor resized =
      across.matmul(down.matmul(grid.reshape({side, side * width}))
                        .view({rows, side, width}));
  return torch::cat({positions.narrow(1, 0, prefix),
                     resized.reshape({1, rows * columns, width})},
                    1);
}

int64_t grid_side(int64_t patches) {
  if (patches < 1) return 0;
  const auto side = static_cast<int64_t>(
      std::lround(std::sqrt(static_cast<double>(patches))));
  return side * side == patches ? side : 0;
}

RotaryAngles::RotaryAngles(int64_t rows, int64_t columns, int64_t width,
                           double base, const at::TensorOptions& like) {
  // On the device from the start: a copy to a GPU would wait for it.
  const at::TensorOptions exact = like.dtype(torch::kDouble);
  const auto centres = [&](int64_t count) {
    return 2 * (torch::arange(count, exact) + 0.5) /
               static_cast<double>(count) -
           1;
  };
  const Tensor places =
      torch::stack({centres(rows).view({-1, 1}).expand({rows, columns}),
                    centres(columns).expand({rows, columns})},
                   2);  // [rows, columns, 2]
  const Tensor frequencies =
      torch::pow(base, torch::arange(width / 4, exact) *
                           (-4 / static_cast<double>(width)));
  const Tensor angles = (2 * M_PI * places.unsqueeze(3) * frequencies)
                            .reshape({rows * columns, width / 2})
                            .repeat({1, 2});
  cos = angles.cos().to(like);
  sin = angles.sin().to(like);
}

Tensor RotaryAngles::operator()(const Tensor& x) const {
  if (!cos.defined()) return x;
  const int64_t prefix = x.size(2) - cos.size(0), half = x.size(3) / 2;
  const Tensor patches = x.narrow(2, prefix, cos.size(0));
  const Tensor crossed = torch::cat(
      {-patches.narrow(3, half, half), patches.narrow(3, 0, half)}, 3);
  const Tensor turned = (patches * cos + crossed * sin).to(x.scalar_type());
  return torch::cat({x.narrow(2, 0, prefix), turned}, 2);
}

}  // namespace kith
