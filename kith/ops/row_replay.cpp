#include "kith/ops/row_replay.h"

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/core/log.h"
#include "kith/ops/gpu.h"
#include "kith/ops/replay.h"
#include "kith/ops/row_start.h"

namespace kith {
namespace {

/// Batches of a kind before one is recorded: libraries settle how they compute
/// a shape when they meet it.
constexpr int64_t kUsual = 2;
/// Beyond, kernels take longer than starting them does.
constexpr int64_t kMostRows = 4096;

/// The next batch writes to what was recorded.
RowOutput copy_of(RowOutput output) {
  output.value = output.value.clone();
  output.row_gradient = output.row_gradient.clone();
  return output;
}

/// All that decides what one loss computes but the numbers.
std::vector<int64_t> kind_of(const RowInput& input,
                             const ClassRanges& classes) {
  const void* stream = input.rows.is_cuda() ? current_stream() : nullptr;
  return {input.rows.size(0),
          input.rows.size(1),
          input.rows.device().index(),
          static_cast<int64_t>(reinterpret_cast<intptr_t>(stream)),
          classes.slots,
          classes.largest,
          classes.alone};
}

/// What a walk reads, besides the product of all with all.
std::vector<Tensor> tensors_of(const RowSides& sides) {
  const RowSide& rows = *sides.rows;
  std::vector<Tensor> tensors = {rows.x, rows.set.order, sides.ranges.first,
                                 sides.ranges.last, sides.ranges.slot};
  for (const Tensor& t : {rows.half, rows.high, rows.split, rows.half_square}) {
    if (t.defined()) tensors.push_back(t);
  }
  return tensors;
}

}  // namespace

/// What a recorded walk reads and makes.
struct RowReplay::Recording {
  explicit Recording(RowStart&& begin)
      : start(std::move(begin)),
        read(tensors_of(start.sides)),
        ahead(start.ahead) {}

  Kind kind;
  RowLoss loss;
  std::vector<std::byte> params;  ///< The loss's: its own may go.
  RowStart start;
  std::vector<Tensor> read;  ///< tensors_of() the start,
  Tensor ahead;              ///< and the product of all with all.
  RowOutput output;
  std::unique_ptr<Replay> replay;
};

RowReplay::RowReplay(bool always) : always_(always) {}
RowReplay::~RowReplay() = default;

bool RowReplay::may_replay(const RowInput& input) const {
  return is_on_ && (input.rows.is_cuda() || always_) &&
         input.rows.scalar_type() == at::kFloat && !input.columns.defined() &&
         !input.mixed.defined() && !input.normalize && !is_divided(input) &&
         input.rows.size(0) > 0 && input.rows.size(0) <= kMostRows;
}

RowOutput RowReplay::run(const RowLoss& loss, const RowInput& input,
                         const RowLimits& limits) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !may_replay(input)) {
    return run_rows(loss, input, limits, /*with_gradient=*/true);
  }
  check_rows(loss, input);
  const at::NoGradGuard no_grad;
  const c10::OptionalDeviceGuard device(input.rows.device());
  Tensor ahead = recording_ ? recording_->ahead : Tensor();
  if (ahead.defined() && ahead.device() != input.rows.device())
    ahead = Tensor();
  RowStart start =
      start_walk(loss, input, limits, /*with_gradient=*/true, ahead);
  Kind kind = kind_of(input, start.sides.ranges);
  if (recording_ && kind == recording_->kind) return replay(start);
  seen_ = kind == last_kind_ ? seen_ + 1 : 1;
  last_kind_ = kind;
  if (seen_ > kUsual) {
    record(loss, limits, start, std::move(kind));
    if (recording_) return copy_of(recording_->output);
  }
  return walk(loss, limits, /*with_gradient=*/true, nullptr, start);
}

RowOutput RowReplay::replay(const RowStart& start) {
  const std::vector<Tensor> now = tensors_of(start.sides);
  for (size_t i = 0; i < now.size(); ++i) recording_->read[i].copy_(now[i]);
  recording_->replay->run();
  ++replays_;
  return copy_of(recording_->output);
}

/// `start` is as it was if it cannot be recorded.
void RowReplay::record(const RowLoss& loss, const RowLimits& limits,
                       RowStart& start, Kind kind) {
  recording_ = nullptr;  // its memory serves the next one
  auto made = std::make_unique<Recording>(std::move(start));
  made->kind = std::move(kind);
  const auto* params = static_cast<const std::byte*>(loss.params);
  made->params.assign(params, params + loss.param_bytes);
  made->loss = loss;
  made->loss.params = made->params.data();
  const auto work = [&known = *made, limits] {
    // A walk uses both up.
    known.start.sides.rows->x = known.read.front();
    known.start.ahead = known.ahead;
    known.output =
        walk(known.loss, limits, /*with_gradient=*/true, nullptr, known.start);
  };
  try {
    made->replay = std::make_unique<Replay>(made->read.front().device());
    made->replay->record(work);
    recording_ = std::move(made);
  } catch (const std::exception& error) {
    is_on_ = false;
    log_info(
        "the loss starts its kernels one by one, for it cannot be "
        "recorded: " +
        why_not_recorded(error));
    start = std::move(made->start);
    start.sides.rows->x = made->read.front();
    start.ahead = made->ahead;
  }
}

}  // namespace kith
