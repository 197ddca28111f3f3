#include "kith/ops/row_start.h"

#include <string>
#include <utility>

#include <torch/torch.h>

#include "kith/ops/block_plan.h"
#include "kith/ops/gpu.h"
#include "kith/ops/half_product.h"
#include "kith/ops/upload.h"

namespace kith {
namespace {

/// How far from 1 the length of a vector is, at most; [1].
Tensor farthest_from_unit(const Tensor& x) {
  const at::NoGradGuard no_grad;
  return x.numel() == 0 ? torch::zeros({1}, x.options())
                        : (x.norm(2, 1) - 1).abs().max().view({1});
}

bool is_unit(const Tensor& farthest) {
  constexpr double kSlack = 1e-2;
  // False for NaN: what is not finite is told elsewhere.
  return !(farthest.item<double>() >= kSlack);
}

void check_unit(bool unit, const std::string& what) {
  TORCH_CHECK_VALUE(unit, what,
                    " needs unit vectors: normalise the embeddings first");
}

/// From so many rows on it is faster to ask whether vectors are unit, and to
/// round them to float16, than to multiply in TF32.
constexpr int64_t kLeastRounded = 8192;

/// Whether similarities that may be TF32's are computed from float16 if the
/// vectors are unit: that has as many bits, and rounds where TF32 cuts off.
bool may_round(const RowInput& input, const RowLimits& limits) {
  return limits.products == RowProducts::kTf32 && input.rows.is_cuda() &&
         input.rows.scalar_type() == at::kFloat &&
         input.rows.size(0) >= kLeastRounded && multiplies_halves_on_gpus();
}

}  // namespace

void check_rows(const RowLoss& loss, const RowInput& input) {
  TORCH_CHECK_VALUE(input.rows.scalar_type() == at::kFloat ||
                        input.rows.scalar_type() == at::kDouble,
                    "embeddings must be float32 or float64, got ",
                    input.rows.scalar_type());
  TORCH_CHECK_VALUE(!input.columns.defined() || !input.mixed.defined(),
                    "SiMix needs the queries to be their own database");
  // Virtual examples have similarities only: 2 - 2 s stands for their squared
  // distance, which is that of unit vectors.
  if (!input.normalize && loss.euclidean && input.mixed.defined()) {
    check_unit(is_unit(farthest_from_unit(input.rows)),
               "SiMix with a loss on distances");
  }
}

bool is_divided(const RowInput& input) {
  return input.lanes != nullptr && !input.columns.defined() &&
         (input.lanes->lanes.count > 1 || !input.lanes->ranks.is_alone());
}

RowStart start_walk(const RowLoss& loss, const RowInput& input,
                    const RowLimits& limits, bool with_gradient, Tensor ahead) {
  const bool on_gpu = input.rows.is_cuda();
  // float16 ends at 65 504, and has few digits below 6e-5. The answer is there
  // when what is known of the classes is: nothing waits for it alone.
  const bool needs_unit = on_gpu && limits.products == RowProducts::kFloat16;
  const bool rounds = may_round(input, limits);
  const bool asks = !input.normalize && (needs_unit || rounds);
  Download farthest;
  const auto multiply_ahead = [&](const RowSides& sides) {
    if (asks) farthest = Download(farthest_from_unit(sides.rows->x));
    const int64_t count = sides.rows->set.examples;
    const Stretch all{0, count, 0, count};
    const int64_t bytes = count * count * input.rows.element_size();
    if (!on_gpu || !with_gradient || rounds || input.mixed.defined() ||
        is_divided(input) || bytes > (limits.memory_mb << 20) / 2 ||
        count > most_in_block(limits.edge, /*on_gpu=*/true)) {
      ahead = Tensor();
      return;
    }
    const ProductPrecision precision(limits.products == RowProducts::kTf32);
    Tensor s = block_buffer(count, count, sides.rows->x.options(), ahead);
    sides.similarities(all, all, s);
  };
  const bool is_float = input.rows.scalar_type() == at::kFloat;
  RowSides sides(input, loss.euclidean && !input.mixed.defined(),
                 on_gpu && is_float ? limits.products : RowProducts::kFloat32,
                 multiply_ahead);
  bool unit = true;
  if (asks && sides.columns) {
    unit = is_unit(torch::cat({farthest_from_unit(sides.rows->x),
                               farthest_from_unit(sides.columns->x)})
                       .max());
  } else if (asks) {
    unit = is_unit(farthest.get());
  }
  if (needs_unit) check_unit(unit, "products: float16");
  if (rounds && unit) {
    sides.rows->half = sides.rows->x.to(at::kHalf);
    if (sides.columns) sides.columns->half = sides.columns->x.to(at::kHalf);
  }
  return {std::move(sides), std::move(ahead)};
}

Tensor block_buffer(int64_t rows, int64_t columns,
                    const at::TensorOptions& options, Tensor& store) {
  const auto align = static_cast<int64_t>(16 / options.dtype().itemsize());
  const int64_t stride = (columns + align - 1) / align * align;
  if (!store.defined() || store.numel() < rows * stride) {
    store = Tensor();
    store = torch::empty({rows * stride}, options);
  }
  return store.narrow(0, 0, rows * stride)
      .view({rows, stride})
      .narrow(1, 0, columns);
}

const int64_t* position_data(const Tensor& positions) {
  return positions.defined() ? positions.data_ptr<int64_t>() : nullptr;
}

}  // namespace kith
