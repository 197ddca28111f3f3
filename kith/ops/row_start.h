#pragma once

#include "kith/ops/row_engine.h"
#include "kith/ops/row_side.h"

namespace kith {

/// What a walk begins with: the sides, sorted; and of a small batch on a GPU
/// the product of all its vectors with all, or undefined.
struct RowStart {
  RowSides sides;
  Tensor ahead;
};

/// Throws c10::ValueError if the engine cannot take an input.
void check_rows(const RowLoss& loss, const RowInput& input);

/// Whether ranks divide the walks.
bool is_divided(const RowInput& input);

/// Sorts. Of a small batch it queues the product of all with all while the host
/// still waits to hear how large the classes are, for launches take longer than
/// most of its kernels; into `ahead`, if that is defined and large enough.
/// Throws c10::ValueError if vectors that must be unit are not.
RowStart start_walk(const RowLoss& loss, const RowInput& input,
                    const RowLimits& limits, bool with_gradient,
                    Tensor ahead = {});

/// The walk itself; `lanes` as in the input, where they divide it. Uses up the
/// start.
RowOutput walk(const RowLoss& loss, const RowLimits& limits, bool with_gradient,
               const BatchLanes* lanes, RowStart& start);

/// [rows, columns] of a buffer, which is made if it is too small. Rows are
/// padded to 16 bytes, for wide loads.
Tensor block_buffer(int64_t rows, int64_t columns,
                    const at::TensorOptions& options, Tensor& store);

/// What kernels take of a tensor of positions, which may be undefined.
const int64_t* position_data(const Tensor& positions);

}  // namespace kith
