#include "kith/ops/row_engine.h"

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/ops/row_start.h"

namespace kith {

RowOutput run_rows(const RowLoss& loss, const RowInput& input,
                   const RowLimits& limits, bool with_gradient) {
  check_rows(loss, input);
  const at::NoGradGuard no_grad;
  const c10::OptionalDeviceGuard device(input.rows.device());
  RowStart start = start_walk(loss, input, limits, with_gradient);
  return walk(loss, limits, with_gradient,
              is_divided(input) ? input.lanes : nullptr, start);
}

}  // namespace kith
