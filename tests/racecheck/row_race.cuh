#pragma once

// The kernels of a row loss, twice: as they are, and with all that the lanes of
// a row share in shared memory, for racecheck sees races there and nowhere
// else. Both must give the same numbers, but for rounding: they are compiled
// apart.

#include "kith/ops/cuda/row_kernels.cuh"
#include "kith/ops/row_kernels.h"
#include "tests/racecheck/check.h"

namespace kith::on_cuda {

template <class T>
__device__ void copy_lanes(const T* from, T* to, int64_t count) {
  for (int64_t i = threadIdx.x; i < count; i += kWarp) to[i] = from[i];
}

/// As row_kernel; a block is one warp.
template <template <class> class Row, class T, Step step>
__global__ void shared_row_kernel(const __grid_constant__
                                  typename Row<T>::Params params,
                                  RowTable<T> table) {
  extern __shared__ __align__(16) unsigned char memory[];
  const Row<T> loss(params);
  const RowSizes sizes = loss.sizes();
  const RowView<T> row = view_row(table, sizes, blockIdx.x);
  RowView<T> here = row;
  here.value = reinterpret_cast<double*>(memory);
  here.shares = here.value + 1;
  here.fields = reinterpret_cast<T*>(here.shares + sizes.totals);
  here.gradient = here.fields + sizes.fields;
  here.notes = here.gradient + row.size;
  here.plane = row.size;
  copy_lanes(row.value, here.value, 1);
  copy_lanes(row.shares, here.shares, sizes.totals);
  copy_lanes(row.fields, here.fields, sizes.fields);
  copy_lanes(row.gradient, here.gradient, row.size);
  for (int64_t n = 0; n < sizes.slot_fields; ++n) {
    copy_lanes(row.notes + n * row.plane, here.notes + n * row.size, row.size);
  }
  __syncwarp();
  if constexpr (step == Step::kOpen) loss.open(WarpTeam<T>(), here);
  if constexpr (step == Step::kSettle) loss.settle(WarpTeam<T>(), here);
  if constexpr (step == Step::kClose) {
    loss.close(WarpTeam<T>(), here);
    spoil_if_not_finite(WarpTeam<T>(), here);
  }
  __syncwarp();
  copy_lanes(here.value, row.value, 1);
  copy_lanes(here.shares, row.shares, sizes.totals);
  copy_lanes(here.fields, row.fields, sizes.fields);
  copy_lanes(here.gradient, row.gradient, row.size);
  for (int64_t n = 0; n < sizes.slot_fields; ++n) {
    copy_lanes(here.notes + n * row.size, row.notes + n * row.plane, row.size);
  }
  __syncwarp();
  using Slope = typename Row<T>::Slope;
  if (step == Step::kClose && threadIdx.x == 0) {
    static_cast<Slope*>(table.slopes)[row.index] = Slope(loss, row);
  }
}

/// A walk of the row engine over one tile.
template <template <class> class Row, class T>
class RaceWalk {
 public:
  using Params = typename Row<T>::Params;

  RaceWalk(const racecheck::Classes& classes, bool in_shared_memory)
      : shared_(in_shared_memory),
        sizes_(kernels().sizes(&params_)),
        largest_(0),
        stride_((classes.count + 3) / 4 * 4),
        first_(classes.count),
        last_(classes.count),
        slot_(classes.count),
        similarity_(classes.slots),
        gradient_(classes.slots),
        notes_(classes.slots * sizes_.slot_fields),
        fields_(classes.count * sizes_.fields),
        slopes_(classes.count * sizes_.slope_bytes),
        value_(classes.count),
        shares_(classes.count * sizes_.totals),
        totals_(sizes_.totals),
        tile_(classes.count * stride_),
        rounded_(classes.count * stride_) {
    fill(first_, classes.first);
    fill(last_, classes.last);
    fill(slot_, classes.slot);
    racecheck::Numbers numbers(7);
    const int64_t count = classes.count;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = i; j < count; ++j) {
        const T s = i == j ? T(1) : static_cast<T>(numbers.next());
        tile_[i * stride_ + j] = tile_[j * stride_ + i] = s;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t size = last_[i] - first_[i];
      largest_ = size > largest_ ? size : largest_;
      for (int64_t x = 0; x < size; ++x) {
        similarity_[slot_[i] + x] = tile_[i * stride_ + first_[i] + x];
      }
    }
    table_.count = count;
    table_.first = first_.data();
    table_.last = last_.data();
    table_.slot = slot_.data();
    table_.slots = classes.slots;
    table_.similarity = similarity_.data();
    table_.gradient = gradient_.data();
    table_.notes = notes_.data();
    table_.fields = fields_.data();
    table_.slopes = slopes_.data();
    table_.value = value_.data();
    table_.shares = shares_.data();
    table_.totals = totals_.data();
  }

  void run() {
    const int64_t count = table_.count;
    const Tile<T> tile{tile_.data(), stride_, 0, count, 0, count};
    const RowLaunch launch{0, count, nullptr};
    rows<Step::kOpen>(kernels().open, launch);
    absorb_halves(tile, launch);
    rows<Step::kSettle>(kernels().settle, launch);
    racecheck::finish();
    for (int64_t i = 0; i < count * sizes_.totals; ++i) {
      totals_[i % sizes_.totals] += shares_[i];
    }
    rows<Step::kClose>(kernels().close, launch);
    kernels().slope_bf16(&params_, table_, tile, /*both_sides=*/true,
                         rounded_.data(), launch);
    kernels().slope(&params_, table_, tile, /*both_sides=*/true, launch);
    racecheck::finish();
  }

  bool is_close_to(const RaceWalk& other) const {
    return value_.is_close_to(other.value_) &&
           gradient_.is_close_to(other.gradient_) &&
           tile_.is_close_to(other.tile_);
  }

 private:
  static const RowKernels<T>& kernels() { return CudaRows<Params, T>::kernels; }

  /// The tile by its rows but for the last columns, which are taken in with
  /// the rows they are the transpose of where the loss does so.
  void absorb_halves(const Tile<T>& tile, const RowLaunch& launch) {
    if (sizes_.scratch > 0) {
      kernels().absorb(&params_, table_, tile, launch);
      return;
    }
    const int64_t half = tile.cols / 8 * 4;  // rows start at 16 bytes
    Tile<T> top = tile;
    top.rows = half;
    kernels().absorb(&params_, table_, top, launch);
    Tile<T> bottom = tile;
    bottom.data += half * tile.stride + half;
    bottom.row0 = bottom.col0 = half;
    bottom.rows = bottom.cols = tile.cols - half;
    kernels().absorb(&params_, table_, bottom, launch);
    Tile<T> corner = top;
    corner.data += half;
    corner.col0 = half;
    corner.cols = tile.cols - half;
    kernels().absorb_columns(&params_, table_, corner, launch);
  }

  template <Step step, class Usual>
  void rows(Usual usual, const RowLaunch& launch) {
    if (!shared_) {
      usual(&params_, table_, launch);
      return;
    }
    const int64_t bytes =
        (1 + sizes_.totals) * sizeof(double) +
        (sizes_.fields + largest_ * (1 + sizes_.slot_fields)) * sizeof(T);
    shared_row_kernel<Row, T, step>
        <<<static_cast<unsigned>(table_.count), kWarp, bytes>>>(params_,
                                                                table_);
    check_cuda(cudaGetLastError(), "shared_row_kernel");
  }

  Params params_;
  bool shared_;
  RowSizes sizes_;
  int64_t largest_;
  int64_t stride_;
  racecheck::Shared<int64_t> first_, last_, slot_;
  racecheck::Shared<T> similarity_, gradient_, notes_, fields_;
  racecheck::Shared<unsigned char> slopes_;
  racecheck::Shared<double> value_, shares_, totals_;
  racecheck::Shared<T> tile_;
  racecheck::Shared<uint16_t> rounded_;  ///< bfloat16; of float32 alone.
  RowTable<T> table_;
};

/// Classes smaller and larger than a warp, and alone.
template <template <class> class Row, class T>
bool rows_are_right() {
  const racecheck::Classes classes({1, 2, 5, 33, 1, 40, 4, 4});
  RaceWalk<Row, T> usual(classes, /*in_shared_memory=*/false);
  RaceWalk<Row, T> watched(classes, /*in_shared_memory=*/true);
  usual.run();
  watched.run();
  return usual.is_close_to(watched);
}

}  // namespace kith::on_cuda
