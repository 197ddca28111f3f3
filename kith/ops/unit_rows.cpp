#include "kith/ops/unit_rows.h"

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/ops/fused_way.h"
#include "kith/ops/gpu.h"
#include "kith/ops/pairwise.h"
#include "kith/ops/unit_kernels.h"

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// Calls run(kernels) with those for `x`.
template <class Run>
void with_unit_kernels(const Tensor& x, const Run& run) {
  const c10::DeviceGuard guard(x.device());
  const auto of = [&]<class T>(T) {
    run(x.is_cuda() ? cuda_unit_kernels<T>() : cpu_unit_kernels<T>());
  };
  x.scalar_type() == at::kDouble ? of(double{}) : of(float{});
}

/// `sizes` [2, N]: scales and norms.
template <class T>
UnitRows<T> rows_of(const Tensor& unit, const Tensor& sizes) {
  UnitRows<T> p;
  p.rows = unit.size(0);
  p.width = unit.size(1);
  p.unit = numbers<T>(unit);
  p.scale = numbers<T>(sizes);
  p.norm = p.scale + p.rows;
  return p;
}

class UnitRowsFunction : public torch::autograd::Function<UnitRowsFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& x) {
    const Tensor rows = x.contiguous();
    const Tensor unit = at::empty_like(rows);
    const Tensor sizes = at::empty({2, rows.size(0)}, rows.options());
    with_unit_kernels(rows, [&]<class T>(const UnitKernels<T>& kernels) {
      UnitRows<T> p = rows_of<T>(unit, sizes);
      p.x = numbers<T>(rows);
      kernels.forward(p, current_stream());
    });
    context->save_for_backward({x, unit, sizes});
    return unit;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    const variable_list saved = context->get_saved_variables();
    if (at::GradMode::is_enabled()) {
      const LayersAlone layers;
      return torch::autograd::grad({normalize_rows(saved[0])}, {saved[0]},
                                   {outer[0]}, /*retain_graph=*/true,
                                   /*create_graph=*/true);
    }
    const Tensor du = outer[0].contiguous();
    const Tensor dx = at::empty_like(du);
    with_unit_kernels(du, [&]<class T>(const UnitKernels<T>& kernels) {
      UnitRowsGradient<T> p;
      p.of = rows_of<T>(saved[1], saved[2]);
      p.du = numbers<T>(du);
      p.dx = numbers<T>(dx);
      kernels.backward(p, current_stream());
    });
    return {dx};
  }
};

}  // namespace

bool can_unit_rows(const Tensor& x) {
  return takes_own_kernels(x) && x.dim() == 2 &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble) &&
         (!x.is_cuda() || cuda_unit_kernels<float>().forward != nullptr);
}

Tensor unit_rows(const Tensor& x) {
  TORCH_CHECK_VALUE(can_unit_rows(x), "[unit_rows] not for ", x.toString(), " ",
                    x.sizes());
  return UnitRowsFunction::apply(x);
}

}  // namespace kith
