#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <torch/torch.h>

#include "kith/ops/block_plan.h"
#include "kith/ops/class_ops.h"
#include "kith/ops/gpu.h"
#include "kith/ops/row_share.h"
#include "kith/ops/row_start.h"

namespace kith {
namespace {

template <class T>
constexpr at::ScalarType kType = sizeof(T) == sizeof(float) ? at::kFloat
                                                            : at::kDouble;

/// One loss on one batch; T is the type of its numbers.
template <class T>
class Walk {
 public:
  /// `lanes`: as RowInput::lanes, where they divide the walks; or null. `start`
  /// is used up.
  Walk(const RowLoss& loss, const RowLimits& limits, bool with_gradient,
       const BatchLanes* lanes, RowStart& start)
      : loss_(loss),
        limits_(limits),
        with_gradient_(with_gradient),
        euclidean_(start.sides.euclidean),
        cuda_(start.sides.rows->x.is_cuda()),
        options_(start.sides.rows->x.options()),
        sides_(start.sides) {
    if (lanes != nullptr) share_.emplace(sides_.rows->set, *lanes);
    if constexpr (sizeof(T) == sizeof(float)) {
      kernels_ = cuda_ ? loss.cuda_float : loss.cpu_float;
    } else {
      kernels_ = cuda_ ? loss.cuda_double : loss.cpu_double;
    }
    TORCH_CHECK(kernels_.open != nullptr,
                "this build of kith has no CUDA kernels: build it with nvcc "
                "(KITH_CUDA=ON), or move the embeddings to the CPU");
    ops_ = cuda_ ? &cuda_class_ops<T>() : &cpu_class_ops<T>();
    sizes_ = kernels_.sizes(loss_.params);
    check_table_size();
    make_table();
    blocks_ =
        plan_blocks(sides_, {.type_bytes = sizeof(T),
                             .budget = bytes_for_blocks(),
                             .edge = limits_.edge,
                             .on_gpu = cuda_,
                             .twice = with_gradient_,
                             .lanes = share_ ? share_->lanes() : Lanes()});
    kept_.resize(blocks_.keep ? blocks_.rows.size() * blocks_.columns.size()
                              : 0);
    if (kept_.size() == 1) kept_[0] = start.ahead;
    start.ahead = Tensor();
  }

  RowOutput run() {
    const ProductPrecision precision(limits_.products == RowProducts::kTf32);
    RowOutput output;
    output.rows = table_.count;
    output.without_positives = sides_.without_positives;
    class_similarities();
    each_row(
        [&](const RowLaunch& l) { kernels_.open(loss_.params, table_, l); });
    first_walk();
    if (share_) gather_states();
    each_row(
        [&](const RowLaunch& l) { kernels_.settle(loss_.params, table_, l); });
    if (sizes_.totals > 0) {
      totals_ = shares_.sum(0);
      table_.totals = totals_.template data_ptr<double>();
    }
    each_row(
        [&](const RowLaunch& l) { kernels_.close(loss_.params, table_, l); });
    output.value = keep_bad_visible(value_.sum()).to(kType<T>);
    if (!with_gradient_) return output;
    sides_.rows->dx = torch::empty_like(sides_.rows->x);
    if (sides_.columns) {
      sides_.columns->dx = torch::empty_like(sides_.columns->x);
    }
    if (share_) {
      second_walk_of_rows();
      class_gradients();
      const Stretch& own = share_->own();
      output.row_gradient =
          share_->hand_out(sides_.rows->sorted_gradient(own.begin, own.end));
      return output;
    }
    second_walk();
    class_gradients();
    output.row_gradient = sides_.rows->gradient();
    if (sides_.columns) output.column_gradient = sides_.columns->gradient();
    return output;
  }

 private:
  /// `value`, or NaN if a vector has a NaN or infinity or is too large to be
  /// squared: comparisons and exponentials of the kernels would hide it. Where
  /// the rows are the columns close() sees it, in the product of a row with
  /// itself; a distance from itself tells nothing.
  Tensor keep_bad_visible(const Tensor& value) {
    if (sides_.columns) {
      return value + (sides_.rows->x.norm() + sides_.columns->x.norm()) * 0;
    }
    return euclidean_ ? value + sides_.rows->half_square.sum() * 0 : value;
  }

  const RowSide& columns() const { return sides_.column_side(); }
  static T* data(const Tensor& t) {
    return t.defined() ? t.data_ptr<T>() : nullptr;
  }

  void make_table() {
    const SortedSet& set = sides_.rows->set;
    const auto doubles = options_.dtype(torch::kDouble);
    similarity_ = torch::empty({sides_.ranges.slots}, options_);
    gradient_ = torch::empty({sides_.ranges.slots}, options_);
    notes_ = torch::empty({sizes_.slot_fields, sides_.ranges.slots}, options_);
    fields_ = torch::empty({set.items, sizes_.fields}, options_);
    value_ = torch::empty({set.items}, doubles);
    shares_ = torch::empty({set.items, sizes_.totals}, doubles);
    table_.count = set.items;
    table_.first = position_data(sides_.ranges.first);
    table_.last = position_data(sides_.ranges.last);
    table_.self = position_data(sides_.self);  // null without a database
    table_.target = position_data(sides_.target);
    table_.slot = position_data(sides_.ranges.slot);
    table_.slots = sides_.ranges.slots;
    table_.similarity = data(similarity_);
    table_.gradient = data(gradient_);
    table_.notes = data(notes_);
    table_.fields = data(fields_);
    slopes_ = torch::empty({set.items * sizes_.slope_bytes},
                           options_.dtype(torch::kByte));
    table_.slopes = slopes_.template data_ptr<uint8_t>();
    table_.value = value_.template data_ptr<double>();
    table_.shares = shares_.template data_ptr<double>();
    if (sides_.rows->set.mixed()) {
      // Pairs within classes of the examples, which the items' are mixed from.
      real_slots_ = torch::empty({sides_.example_ranges.slots}, options_);
    }
  }

  int64_t budget() const { return limits_.memory_mb << 20; }

  /// Bytes of the tables of pairs within classes.
  double table_bytes() const {
    return static_cast<double>(sides_.ranges.slots) * sizeof(T) *
           static_cast<double>(2 + sizes_.slot_fields);
  }

  void check_table_size() const {
    TORCH_CHECK_VALUE(
        table_bytes() <= static_cast<double>(budget()),
        "the classes of this batch are too large: ", sides_.ranges.slots,
        " pairs within classes need ", std::ceil(table_bytes() / (1 << 20)),
        " MB, but memory_mb is ", limits_.memory_mb,
        "; use fewer examples of a class, or a larger memory_mb");
  }

  double bytes_for_blocks() const {
    return std::max(static_cast<double>(budget()) - table_bytes(),
                    double{1 << 20});
  }

  /// Whether waking other threads takes longer than all the work.
  bool is_small() const {
    constexpr int64_t kSimilarities = 1 << 16;
    return sides_.rows->set.items * columns().set.items <= kSimilarities;
  }

  /// Calls f with all rows: in parallel ranges on the CPU, once for a GPU.
  template <class F>
  void in_parallel(int64_t count, int64_t grain, const F& f) const {
    in_parallel(count, grain, f, 0, count);
  }

  /// The same of rows [begin, end) on the CPU; a GPU takes all.
  template <class F>
  void in_parallel(int64_t count, int64_t grain, const F& f, int64_t begin,
                   int64_t end) const {
    if (begin == end) return;
    if (cuda_) {
      f(RowLaunch{0, count, current_stream()});
    } else if (is_small()) {
      f(RowLaunch{begin, end, nullptr});
    } else {
      at::parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
        f(RowLaunch{from, to, nullptr});
      });
    }
  }
  template <class F>
  void each_row(const F& f) const {
    in_parallel(table_.count, 16, f);
  }

  ClassPairs<T> class_pairs() {
    ClassPairs<T> pairs;
    const ClassRanges& ranges =
        sides_.rows->set.mixed() ? sides_.example_ranges : sides_.ranges;
    pairs.x = data(sides_.rows->x);
    pairs.y = data(columns().x);
    pairs.rows = sides_.rows->set.examples;
    pairs.columns = columns().set.examples;
    pairs.dim = sides_.rows->x.size(1);
    pairs.first = position_data(ranges.first);
    pairs.last = position_data(ranges.last);
    pairs.slot = position_data(ranges.slot);
    pairs.euclidean = euclidean_;
    return pairs;
  }

  MixedSlots<T> mixed_slots(const Tensor& items) const {
    return {data(real_slots_),
            position_data(sides_.example_ranges.first),
            position_data(sides_.example_ranges.last),
            position_data(sides_.example_ranges.slot),
            data(items),
            position_data(sides_.ranges.first),
            position_data(sides_.ranges.last),
            position_data(sides_.ranges.slot)};
  }

  void class_similarities() {
    const bool mixed = sides_.rows->set.mixed();
    const ClassPairs<T> pairs = class_pairs();
    T* to = data(mixed ? real_slots_ : similarity_);
    in_parallel(pairs.rows, 16,
                [&](const RowLaunch& l) { ops_->similarities(pairs, to, l); });
    if (!mixed) return;
    in_parallel(sides_.rows->set.items, 16, [&](const RowLaunch& l) {
      ops_->mix_slots(sides_.rows->items(), mixed_slots(similarity_), l);
    });
  }

  void class_gradients() {
    const bool mixed = sides_.rows->set.mixed();
    if (mixed) {
      in_parallel(sides_.rows->set.examples, 16, [&](const RowLaunch& l) {
        ops_->unmix_slots(sides_.rows->items(), mixed_slots(gradient_), l);
      });
    }
    const ClassPairs<T> pairs = class_pairs();
    const T* from = data(mixed ? real_slots_ : gradient_);
    const Stretch own = share_ ? share_->own() : Stretch{0, pairs.rows, 0, 0};
    in_parallel(
        pairs.rows, 16,
        [&](const RowLaunch& l) {
          ops_->row_gradients(pairs, from, /*both_sides=*/!sides_.columns,
                              data(sides_.rows->dx), l);
        },
        own.begin, own.end);
    if (!sides_.columns) return;
    const ClassRanges back =
        class_ranges(sides_.columns->set.labels, sides_.rows->set.labels);
    const ColumnRanges ranges{position_data(back.first),
                              position_data(back.last)};
    in_parallel(pairs.columns, 16, [&](const RowLaunch& l) {
      ops_->column_gradients(pairs, ranges, from, data(sides_.columns->dx), l);
    });
  }

  Tensor buffer(int64_t rows, int64_t columns, Tensor& store) const {
    return block_buffer(rows, columns, options_, store);
  }

  /// The similarities of a block of examples.
  Tensor products(size_t row_part, size_t column_part) {
    const Stretch& i = blocks_.rows[row_part];
    const Stretch& j = blocks_.columns[column_part];
    Tensor* store = &block_;
    if (blocks_.keep) {
      store = &kept_[row_part * blocks_.columns.size() + column_part];
      if (store->defined()) {
        return buffer(i.end - i.begin, j.end - j.begin, *store);
      }
    }
    Tensor s = buffer(i.end - i.begin, j.end - j.begin, *store);
    sides_.similarities(i, j, s);
    return s;
  }

  Tile<T> tile(const Tensor& s, int64_t row0, int64_t col0) const {
    return {data(s), s.stride(0), row0, s.size(0), col0, s.size(1)};
  }

  /// The similarities of a block of items.
  Tensor mixed_block(const Tensor& s, const Stretch& i, const Stretch& j) {
    if (!sides_.rows->set.mixed()) return s;
    Tensor mixed =
        buffer(i.item_end - i.item_begin, j.item_end - j.item_begin, mixed_);
    in_parallel(mixed.size(0), 16, [&](const RowLaunch& l) {
      ops_->mix_tile(sides_.rows->items(i), sides_.rows->items(j),
                     tile(s, i.begin, j.begin),
                     tile(mixed, i.item_begin, j.item_begin), l);
    });
    return mixed;
  }

  void first_walk() {
    const bool symmetric = stands_for_transpose();
    for (size_t a = 0; a < blocks_.rows.size(); ++a) {
      for (size_t b = symmetric ? a : 0; b < blocks_.columns.size(); ++b) {
        const Stretch& i = blocks_.rows[a];
        const Stretch& j = blocks_.columns[b];
        const Tensor s = mixed_block(products(a, b), i, j);
        const Tile<T> t = tile(s, i.item_begin, j.item_begin);
        absorb(t);
        if (symmetric && a != b) absorb_transpose(s, t);
      }
    }
  }

  /// Whether a block off the diagonal is taken in by its rows and its columns.
  bool stands_for_transpose() const {
    return !sides_.columns && !share_ && (!cuda_ || sizes_.scratch == 0);
  }

  void absorb(const Tile<T>& t) {
    in_parallel(t.rows, 16, [&](const RowLaunch& l) {
      kernels_.absorb(loss_.params, table_, t, l);
    });
  }

  void absorb_transpose(const Tensor& s, const Tile<T>& t) {
    if (cuda_) {
      kernels_.absorb_columns(loss_.params, table_, t,
                              {0, t.cols, current_stream()});
      return;
    }
    Tensor turned = buffer(t.cols, t.rows, turned_);
    turned.copy_(s.t());
    absorb(tile(turned, t.col0, t.row0));
  }

  void second_walk() {
    if (blocks_.columns.empty() || blocks_.rows.empty()) {
      // Nothing else is written.
      sides_.rows->dx.zero_();
      sides_.column_side().dx.zero_();
    }
    for (size_t a = 0; a < blocks_.rows.size(); ++a) {
      // A block on or above the diagonal stands for its mirror image too.
      for (size_t b = sides_.columns ? 0 : a; b < blocks_.columns.size(); ++b) {
        sides_.add_gradient(slopes_of(a, b), blocks_.rows[a],
                            blocks_.columns[b]);
      }
    }
  }

  /// W_IJ of a block of examples.
  Tensor slopes_of(size_t row_part, size_t column_part) {
    const Stretch& i = blocks_.rows[row_part];
    const Stretch& j = blocks_.columns[column_part];
    Tensor s = products(row_part, column_part);
    const Tensor w = mixed_block(s, i, j);
    const Tile<T> t = tile(w, i.item_begin, j.item_begin);
    if (sides_.takes_bf16() && !sides_.rows->set.mixed()) {
      return bf16_slopes(s, t);
    }
    in_parallel(t.rows, 64, [&](const RowLaunch& l) {
      kernels_.slope(loss_.params, table_, t,
                     /*both_sides=*/!sides_.columns, l);
    });
    if (sides_.rows->set.mixed()) unmix(w, s, i, j);
    return s;
  }

  /// The same in bfloat16, for the product that follows.
  Tensor bf16_slopes(const Tensor& s, const Tile<T>& t) {
    if (!rounded_.defined() || rounded_.numel() < t.rows * t.stride) {
      rounded_ = Tensor();
      rounded_ =
          torch::empty({t.rows * t.stride}, options_.dtype(torch::kBFloat16));
    }
    kernels_.slope_bf16(loss_.params, table_, t,
                        /*both_sides=*/!sides_.columns, rounded_.data_ptr(),
                        {0, t.rows, current_stream()});
    return rounded_.narrow(0, 0, t.rows * t.stride)
        .view({t.rows, t.stride})
        .narrow(1, 0, s.size(1));
  }

  /// What each rank's rows know after the first walk, for all ranks.
  void gather_states() {
    Communicator& ranks = share_->ranks();
    if (ranks.is_alone()) return;
    const Stretch& own = share_->own();
    if (sizes_.fields > 0) {
      ranks.all_gather(fields_.slice(0, own.item_begin, own.item_end), fields_);
    }
    if (sizes_.slot_fields == 0) return;
    const auto slot_of = [&](int64_t item) {
      if (item == 0) return int64_t{0};
      return item == table_.count
                 ? table_.slots
                 : sides_.ranges.slot[item].template item<int64_t>();
    };
    const int64_t begin = slot_of(own.item_begin);
    const int64_t end = slot_of(own.item_end);
    ranks.all_gather(notes_.slice(1, begin, end).t(), notes_.t());
  }

  /// The rows' side of all blocks of this rank's rows.
  void second_walk_of_rows() {
    for (size_t a = 0; a < blocks_.rows.size(); ++a) {
      for (size_t b = 0; b < blocks_.columns.size(); ++b) {
        sides_.add_row_gradient(slopes_of(a, b), blocks_.rows[a],
                                blocks_.columns[b]);
      }
    }
  }

  void unmix(const Tensor& mixed, Tensor& w, const Stretch& i,
             const Stretch& j) {
    in_parallel(w.size(0), 16, [&](const RowLaunch& l) {
      ops_->unmix_tile(sides_.rows->items(i), sides_.rows->items(j),
                       tile(mixed, i.item_begin, j.item_begin),
                       tile(w, i.begin, j.begin), l);
    });
  }

  const RowLoss& loss_;
  RowLimits limits_;
  bool with_gradient_;
  bool euclidean_;
  bool cuda_;
  at::TensorOptions options_;
  RowSides& sides_;
  std::optional<RowShare> share_;  ///< None: it walks all, in one lane.
  RowKernels<T> kernels_;
  const ClassOps<T>* ops_ = nullptr;
  RowSizes sizes_;
  RowTable<T> table_;
  BlockPlan blocks_;
  std::vector<Tensor> kept_;
  // What table_ points to, and buffers.
  Tensor similarity_, gradient_, notes_, fields_, value_;
  Tensor slopes_;
  Tensor shares_, totals_, real_slots_, block_, mixed_, turned_, rounded_;
};

}  // namespace

RowOutput walk(const RowLoss& loss, const RowLimits& limits, bool with_gradient,
               const BatchLanes* lanes, RowStart& start) {
  if (start.sides.rows->x.scalar_type() == at::kDouble) {
    return Walk<double>(loss, limits, with_gradient, lanes, start).run();
  }
  return Walk<float>(loss, limits, with_gradient, lanes, start).run();
}

}  // namespace kith
