#include "kith/ops/row_engine.h"

#include <algorithm>
#include <cmath>

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/ops/class_ops.h"
#include "kith/ops/gpu.h"
#include "kith/ops/row_side.h"

namespace kith {
namespace {

template <class T>
constexpr at::ScalarType kType = sizeof(T) == sizeof(float) ? at::kFloat
                                                            : at::kDouble;

/// What kernels take of a tensor of positions, which may be undefined.
const int64_t* ints(const Tensor& t) {
  return t.defined() ? t.data_ptr<int64_t>() : nullptr;
}

/// One loss on one batch; T is the type of its numbers.
template <class T>
class Walk {
 public:
  Walk(const RowLoss& loss, const RowInput& input, const RowLimits& limits,
       bool with_gradient)
      : loss_(loss),
        limits_(limits),
        with_gradient_(with_gradient),
        euclidean_(loss.euclidean && !input.mixed.defined()),
        cuda_(input.rows.is_cuda()),
        options_(input.rows.options().requires_grad(false)) {
    sort(input);
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
    plan_blocks();
  }

  RowOutput run() {
    const ProductPrecision precision(limits_.tf32);
    RowOutput output;
    output.rows = table_.count;
    output.without_positives = without_positives_;
    class_similarities();
    each_row(
        [&](const RowLaunch& l) { kernels_.open(loss_.params, table_, l); });
    first_walk();
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
    rows_->dx = torch::empty_like(rows_->x);
    if (columns_) columns_->dx = torch::empty_like(columns_->x);
    second_walk();
    class_gradients();
    output.row_gradient = rows_->gradient();
    if (columns_) output.column_gradient = columns_->gradient();
    return output;
  }

 private:
  /// `value`, or NaN if a vector has a NaN or infinity or is too large to be
  /// squared: comparisons and exponentials of the kernels would hide it. Where
  /// the rows are the columns close() sees it, in the product of a row with
  /// itself; a distance from itself tells nothing.
  Tensor keep_bad_visible(const Tensor& value) {
    if (columns_) return value + (rows_->x.norm() + columns_->x.norm()) * 0;
    return euclidean_ ? value + rows_->half_square.sum() * 0 : value;
  }

  RowSide& columns() { return columns_ ? *columns_ : *rows_; }
  static T* data(const Tensor& t) {
    return t.defined() ? t.data_ptr<T>() : nullptr;
  }

  void sort(const RowInput& input) {
    if (!input.columns.defined()) {
      SortedBatch batch = sort_batch(input.row_labels, input.mixed);
      ranges_ = batch.ranges;
      real_ranges_ = batch.example_ranges;
      without_positives_ = ranges_.alone;
      rows_ = std::make_unique<RowSide>(input.rows, std::move(batch.set),
                                        input.normalize, euclidean_);
      return;
    }
    rows_ =
        std::make_unique<RowSide>(input.rows, sort_by_label(input.row_labels),
                                  input.normalize, euclidean_);
    columns_ = std::make_unique<RowSide>(input.columns,
                                         sort_by_label(input.column_labels),
                                         input.normalize, euclidean_);
    ranges_ = class_ranges(rows_->set.labels, columns_->set.labels);
    self_ = in_sorted_columns(input.self);
    target_ = in_sorted_columns(input.target);
    if (!self_.defined()) {
      self_ = torch::full({rows_->set.items}, -1, options_.dtype(torch::kLong));
    }
    const Tensor positives =
        ranges_.last - ranges_.first - (self_ >= 0).to(torch::kLong);
    without_positives_ = (positives == 0).sum().template item<int64_t>();
  }

  void make_table() {
    const SortedSet& set = rows_->set;
    const auto doubles = options_.dtype(torch::kDouble);
    similarity_ = torch::empty({ranges_.slots}, options_);
    gradient_ = torch::empty({ranges_.slots}, options_);
    notes_ = torch::empty({sizes_.slot_fields, ranges_.slots}, options_);
    fields_ = torch::empty({set.items, sizes_.fields}, options_);
    value_ = torch::empty({set.items}, doubles);
    shares_ = torch::empty({set.items, sizes_.totals}, doubles);
    table_.count = set.items;
    table_.first = ints(ranges_.first);
    table_.last = ints(ranges_.last);
    table_.self = ints(self_);  // null without a database
    table_.target = ints(target_);
    table_.slot = ints(ranges_.slot);
    table_.slots = ranges_.slots;
    table_.similarity = data(similarity_);
    table_.gradient = data(gradient_);
    table_.notes = data(notes_);
    table_.fields = data(fields_);
    slopes_ = torch::empty({set.items * sizes_.slope_bytes},
                           options_.dtype(torch::kByte));
    table_.slopes = slopes_.template data_ptr<uint8_t>();
    table_.value = value_.template data_ptr<double>();
    table_.shares = shares_.template data_ptr<double>();
    if (rows_->set.mixed()) {
      // Pairs within classes of the examples, which the items' are mixed from.
      real_slots_ = torch::empty({real_ranges_.slots}, options_);
    }
  }

  /// Positions in the columns as given, by rows as given, -> the same among
  /// the sorted ones.
  Tensor in_sorted_columns(const Tensor& positions) {
    if (!positions.defined()) return {};
    const Tensor& order = columns_->set.order;
    const Tensor place = torch::empty_like(order).index_copy_(
        0, order, torch::arange(order.size(0), order.options()));
    const Tensor mine = positions.index_select(0, rows_->set.order);
    if (order.size(0) == 0) return mine;  // -1: none has a place
    return torch::where(mine >= 0, place.index_select(0, mine.clamp_min(0)),
                        mine);
  }

  int64_t budget() const { return limits_.memory_mb << 20; }

  /// Bytes of the tables of pairs within classes.
  double table_bytes() const {
    return static_cast<double>(ranges_.slots) * sizeof(T) *
           static_cast<double>(2 + sizes_.slot_fields);
  }

  void check_table_size() const {
    TORCH_CHECK_VALUE(
        table_bytes() <= static_cast<double>(budget()),
        "the classes of this batch are too large: ", ranges_.slots,
        " pairs within classes need ", std::ceil(table_bytes() / (1 << 20)),
        " MB, but memory_mb is ", limits_.memory_mb,
        "; use fewer examples of a class, or a larger memory_mb");
  }

  /// Blocks of equal edges that the budget holds; kept between the two walks
  /// if it holds all of them.
  void plan_blocks() {
    const double left = std::max(static_cast<double>(budget()) - table_bytes(),
                                 double{1 << 20});
    // Numbers of a block with virtual examples for each without.
    const double growth =
        static_cast<double>(rows_->set.items) /
        static_cast<double>(std::max<int64_t>(rows_->set.examples, 1));
    const double mixed = rows_->set.mixed() ? growth * growth : 0;
    auto edge = static_cast<int64_t>(std::sqrt(left / sizeof(T) / (1 + mixed)));
    // BLAS libraries like even sizes.
    if (edge > kEvenEdge) edge = edge / kEvenEdge * kEvenEdge;
    // Larger blocks only leave the caches. With virtual examples it is the
    // mixed block that counts.
    int64_t most = cuda_ ? kMostEdgeOnGpu : kMostEdge;
    if (rows_->set.mixed()) {
      const double items = cuda_ ? kMostItemsOnGpu : kMostItems;
      most = static_cast<int64_t>(items / growth);
    }
    if (limits_.edge > 0) most = limits_.edge;
    edge = std::clamp<int64_t>(edge, 1, std::max<int64_t>(most, 1));
    row_parts_ = cut(rows_->set, edge);
    column_parts_ = columns_ ? cut(columns_->set, edge) : row_parts_;
    const auto rows = static_cast<double>(rows_->set.examples);
    const auto columns_count = static_cast<double>(columns().set.examples);
    const double block = std::min<double>(rows, static_cast<double>(edge));
    keep_ = with_gradient_ &&
            (rows * columns_count + block * block * mixed) * sizeof(T) <= left;
    kept_.resize(keep_ ? row_parts_.size() * column_parts_.size() : 0);
  }

  /// Whether waking other threads takes longer than all the work.
  bool is_small() const {
    constexpr int64_t kSimilarities = 1 << 16;
    const auto& columns = columns_ ? columns_ : rows_;
    return rows_->set.items * columns->set.items <= kSimilarities;
  }

  /// Calls f with all rows: in parallel ranges on the CPU, once for a GPU.
  template <class F>
  void in_parallel(int64_t count, int64_t grain, const F& f) const {
    if (count == 0) return;
    if (cuda_ || is_small()) {
      f(RowLaunch{0, count, cuda_ ? current_stream() : nullptr});
      return;
    }
    at::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      f(RowLaunch{begin, end, nullptr});
    });
  }
  template <class F>
  void each_row(const F& f) const {
    in_parallel(table_.count, 16, f);
  }

  ClassPairs<T> class_pairs() {
    ClassPairs<T> pairs;
    const ClassRanges& ranges = rows_->set.mixed() ? real_ranges_ : ranges_;
    pairs.x = data(rows_->x);
    pairs.y = data(columns().x);
    pairs.rows = rows_->set.examples;
    pairs.columns = columns().set.examples;
    pairs.dim = rows_->x.size(1);
    pairs.first = ints(ranges.first);
    pairs.last = ints(ranges.last);
    pairs.slot = ints(ranges.slot);
    pairs.euclidean = euclidean_;
    return pairs;
  }

  MixedSlots<T> mixed_slots(const Tensor& items) const {
    return {data(real_slots_),
            ints(real_ranges_.first),
            ints(real_ranges_.last),
            ints(real_ranges_.slot),
            data(items),
            ints(ranges_.first),
            ints(ranges_.last),
            ints(ranges_.slot)};
  }

  void class_similarities() {
    const bool mixed = rows_->set.mixed();
    const ClassPairs<T> pairs = class_pairs();
    T* to = data(mixed ? real_slots_ : similarity_);
    in_parallel(pairs.rows, 16,
                [&](const RowLaunch& l) { ops_->similarities(pairs, to, l); });
    if (!mixed) return;
    in_parallel(rows_->set.items, 16, [&](const RowLaunch& l) {
      ops_->mix_slots(rows_->items(), mixed_slots(similarity_), l);
    });
  }

  void class_gradients() {
    const bool mixed = rows_->set.mixed();
    if (mixed) {
      in_parallel(rows_->set.examples, 16, [&](const RowLaunch& l) {
        ops_->unmix_slots(rows_->items(), mixed_slots(gradient_), l);
      });
    }
    const ClassPairs<T> pairs = class_pairs();
    const T* from = data(mixed ? real_slots_ : gradient_);
    in_parallel(pairs.rows, 16, [&](const RowLaunch& l) {
      ops_->row_gradients(pairs, from, /*both_sides=*/!columns_,
                          data(rows_->dx), l);
    });
    if (!columns_) return;
    const ClassRanges back =
        class_ranges(columns_->set.labels, rows_->set.labels);
    const ColumnRanges ranges{ints(back.first), ints(back.last)};
    in_parallel(pairs.columns, 16, [&](const RowLaunch& l) {
      ops_->column_gradients(pairs, ranges, from, data(columns_->dx), l);
    });
  }

  /// Rows of a buffer are padded to 16 bytes, for wide loads.
  Tensor buffer(int64_t rows, int64_t columns, Tensor& store) const {
    constexpr int64_t kAlign = 16 / sizeof(T);
    const int64_t stride = (columns + kAlign - 1) / kAlign * kAlign;
    if (!store.defined() || store.numel() < rows * stride) {
      store = Tensor();
      store = torch::empty({rows * stride}, options_);
    }
    return store.narrow(0, 0, rows * stride)
        .view({rows, stride})
        .narrow(1, 0, columns);
  }

  /// The similarities of a block of examples.
  Tensor products(size_t row_part, size_t column_part) {
    const Stretch& i = row_parts_[row_part];
    const Stretch& j = column_parts_[column_part];
    Tensor* store = &block_;
    if (keep_) {
      store = &kept_[row_part * column_parts_.size() + column_part];
      if (store->defined()) {
        return buffer(i.end - i.begin, j.end - j.begin, *store);
      }
    }
    Tensor s = buffer(i.end - i.begin, j.end - j.begin, *store);
    at::mm_out(s, rows_->x.slice(0, i.begin, i.end),
               columns().x.slice(0, j.begin, j.end).t());
    if (euclidean_) {
      s.sub_(rows_->half_square.slice(0, i.begin, i.end).unsqueeze(1));
      s.sub_(columns().half_square.slice(0, j.begin, j.end)).add_(1);
    }
    return s;
  }

  Tile<T> tile(const Tensor& s, int64_t row0, int64_t col0) const {
    return {data(s), s.stride(0), row0, s.size(0), col0, s.size(1)};
  }

  /// The similarities of a block of items.
  Tensor mixed_block(const Tensor& s, const Stretch& i, const Stretch& j) {
    if (!rows_->set.mixed()) return s;
    Tensor mixed =
        buffer(i.item_end - i.item_begin, j.item_end - j.item_begin, mixed_);
    in_parallel(mixed.size(0), 16, [&](const RowLaunch& l) {
      ops_->mix_tile(rows_->items(i), rows_->items(j),
                     tile(s, i.begin, j.begin),
                     tile(mixed, i.item_begin, j.item_begin), l);
    });
    return mixed;
  }

  void first_walk() {
    for (size_t a = 0; a < row_parts_.size(); ++a) {
      for (size_t b = 0; b < column_parts_.size(); ++b) {
        const Stretch& i = row_parts_[a];
        const Stretch& j = column_parts_[b];
        const Tensor s = mixed_block(products(a, b), i, j);
        const Tile<T> t = tile(s, i.item_begin, j.item_begin);
        in_parallel(t.rows, 16, [&](const RowLaunch& l) {
          kernels_.absorb(loss_.params, table_, t, l);
        });
      }
    }
  }

  void second_walk() {
    if (column_parts_.empty() || row_parts_.empty()) {  // nothing is written
      rows_->dx.zero_();
      columns().dx.zero_();
    }
    for (size_t a = 0; a < row_parts_.size(); ++a) {
      // A block on or above the diagonal stands for its mirror image too.
      for (size_t b = columns_ ? 0 : a; b < column_parts_.size(); ++b) {
        const Stretch& i = row_parts_[a];
        const Stretch& j = column_parts_[b];
        Tensor s = products(a, b);
        const Tensor w = mixed_block(s, i, j);
        const Tile<T> t = tile(w, i.item_begin, j.item_begin);
        in_parallel(t.rows, 64, [&](const RowLaunch& l) {
          kernels_.slope(loss_.params, table_, t, /*both_sides=*/!columns_, l);
        });
        if (rows_->set.mixed()) unmix(w, s, i, j);
        add_products(s, a, b);
      }
    }
  }

  void unmix(const Tensor& mixed, Tensor& w, const Stretch& i,
             const Stretch& j) {
    in_parallel(w.size(0), 16, [&](const RowLaunch& l) {
      ops_->unmix_tile(rows_->items(i), rows_->items(j),
                       tile(mixed, i.item_begin, j.item_begin),
                       tile(w, i.begin, j.begin), l);
    });
  }

  /// dX_I += W X_J and, unless the block is its own mirror image, dX_J +=
  /// W^T X_I.
  void add_products(const Tensor& w, size_t a, size_t b) {
    const Stretch& i = row_parts_[a];
    const Stretch& j = column_parts_[b];
    const Tensor xi = rows_->x.slice(0, i.begin, i.end);
    const Tensor xj = columns().x.slice(0, j.begin, j.end);
    Tensor di = rows_->dx.slice(0, i.begin, i.end);
    // Without a database, rows after the first part were columns before.
    add_product(di, w, xj, /*first=*/b == 0 && (columns_ || a == 0));
    if (euclidean_) di.addcmul_(w.sum(1, /*keepdim=*/true), xi, -1);
    if (!columns_ && a == b) return;
    Tensor dj = columns().dx.slice(0, j.begin, j.end);
    add_product(dj, w.t(), xi, /*first=*/a == 0);
    if (euclidean_) dj.addcmul_(w.sum(0).unsqueeze(1), xj, -1);
  }

  /// to = a b, or to += a b.
  static void add_product(Tensor& to, const Tensor& a, const Tensor& b,
                          bool first) {
    if (first) {
      at::mm_out(to, a, b);
    } else {
      to.addmm_(a, b);
    }
  }

  static constexpr int64_t kEvenEdge = 128;
  static constexpr int64_t kMostEdge = 4096;
  static constexpr int64_t kMostEdgeOnGpu = 8192;
  static constexpr int64_t kMostItems = 2560;
  static constexpr int64_t kMostItemsOnGpu = 5120;

  const RowLoss& loss_;
  RowLimits limits_;
  bool with_gradient_;
  bool euclidean_;
  bool cuda_;
  at::TensorOptions options_;
  RowKernels<T> kernels_;
  const ClassOps<T>* ops_ = nullptr;
  RowSizes sizes_;
  std::unique_ptr<RowSide> rows_;
  std::unique_ptr<RowSide> columns_;  ///< Null if the rows are the columns.
  ClassRanges ranges_;
  ClassRanges real_ranges_;
  RowTable<T> table_;
  int64_t without_positives_ = 0;
  std::vector<Stretch> row_parts_;
  std::vector<Stretch> column_parts_;
  bool keep_ = false;
  std::vector<Tensor> kept_;
  // What table_ points to, and buffers.
  Tensor self_, target_, similarity_, gradient_, notes_, fields_, value_;
  Tensor slopes_;
  Tensor shares_, totals_, real_slots_, block_, mixed_;
};

RowOutput run_typed(const RowLoss& loss, const RowInput& input,
                    const RowLimits& limits, bool with_gradient) {
  const at::NoGradGuard no_grad;
  const c10::OptionalDeviceGuard device(input.rows.device());
  if (input.rows.scalar_type() == at::kDouble) {
    return Walk<double>(loss, input, limits, with_gradient).run();
  }
  return Walk<float>(loss, input, limits, with_gradient).run();
}

/// Virtual examples have similarities only: 2 - 2 s stands for their squared
/// distance, which is that of unit vectors.
void check_unit(const Tensor& x) {
  const at::NoGradGuard no_grad;
  constexpr double kSlack = 1e-2;
  TORCH_CHECK_VALUE(
      x.numel() == 0 || (x.norm(2, 1) - 1).abs().max().item<double>() < kSlack,
      "SiMix with a loss on distances needs unit vectors: normalise the "
      "embeddings first");
}

}  // namespace

RowOutput run_rows(const RowLoss& loss, const RowInput& input,
                   const RowLimits& limits, bool with_gradient) {
  TORCH_CHECK_VALUE(input.rows.scalar_type() == at::kFloat ||
                        input.rows.scalar_type() == at::kDouble,
                    "embeddings must be float32 or float64, got ",
                    input.rows.scalar_type());
  TORCH_CHECK_VALUE(!input.columns.defined() || !input.mixed.defined(),
                    "SiMix needs the queries to be their own database");
  if (loss.euclidean && input.mixed.defined() && !input.normalize) {
    check_unit(input.rows);
  }
  return run_typed(loss, input, limits, with_gradient);
}

}  // namespace kith
