#include <torch/torch.h>

#include "kith/ops/known_gradient.h"
#include "kith/ops/row_engine.h"
#include "kith/ops/row_replay.h"

namespace kith {

RowOutput differentiable_rows(const RowLoss& loss, const RowInput& input,
                              const RowLimits& limits, RowReplay* replay) {
  const bool needed =
      at::GradMode::is_enabled() &&
      (input.rows.requires_grad() ||
       (input.columns.defined() && input.columns.requires_grad()));
  RowOutput output = needed && replay != nullptr
                         ? replay->run(loss, input, limits)
                         : run_rows(loss, input, limits, needed);
  if (needed) {
    output.value =
        known_gradient(output.value, {input.rows, input.columns},
                       {output.row_gradient, output.column_gradient});
  }
  return output;
}

}  // namespace kith
