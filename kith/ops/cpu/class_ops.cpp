#include "kith/ops/class_ops.h"

#include <cstddef>
#include <vector>

#include "kith/core/lane_sum.h"

namespace kith {
namespace {

template <class T>
void similarities(const ClassPairs<T>& p, T* similarity,
                  const RowLaunch& launch) {
  for (int64_t i = launch.begin; i < launch.end; ++i) {
    const T* x = p.x + i * p.dim;
    for (int64_t j = p.first[i]; j < p.last[i]; ++j) {
      const T* y = p.y + j * p.dim;
      similarity[p.slot[i] + j - p.first[i]] =
          p.euclidean ? 1 - squared_distance(x, y, p.dim) / 2
                      : dot(x, y, p.dim);
    }
  }
}

/// to += g ds/d(to's vector), where s is between `own` and `other`.
template <class T>
void add_gradient(T g, const T* own, const T* other, bool euclidean, T* to,
                  int64_t dim) {
  if (g == 0) return;
  if (euclidean) {
    for (int64_t k = 0; k < dim; ++k) to[k] += g * (other[k] - own[k]);
  } else {
    for (int64_t k = 0; k < dim; ++k) to[k] += g * other[k];
  }
}

template <class T>
void row_gradients(const ClassPairs<T>& p, const T* gradient, bool both_sides,
                   T* dx, const RowLaunch& launch) {
  for (int64_t i = launch.begin; i < launch.end; ++i) {
    for (int64_t j = p.first[i]; j < p.last[i]; ++j) {
      T g = gradient[p.slot[i] + j - p.first[i]];
      if (both_sides) g += gradient[p.slot[j] + i - p.first[j]];
      add_gradient(g, p.x + i * p.dim, p.y + j * p.dim, p.euclidean,
                   dx + i * p.dim, p.dim);
    }
  }
}

template <class T>
void column_gradients(const ClassPairs<T>& p, const ColumnRanges& ranges,
                      const T* gradient, T* dy, const RowLaunch& launch) {
  for (int64_t j = launch.begin; j < launch.end; ++j) {
    for (int64_t i = ranges.first[j]; i < ranges.last[j]; ++i) {
      add_gradient(gradient[p.slot[i] + j - p.first[i]], p.y + j * p.dim,
                   p.x + i * p.dim, p.euclidean, dy + j * p.dim, p.dim);
    }
  }
}

template <class T>
void mix_tile(const MixedItems& rows, const MixedItems& columns,
              const Tile<T>& tile, const Tile<T>& mixed,
              const RowLaunch& launch) {
  std::vector<T> line(static_cast<size_t>(tile.cols));
  for (int64_t p = launch.begin; p < launch.end; ++p) {
    const T a = static_cast<T>(rows.alpha[p]);
    const T* one =
        tile.data + (rows.first_parent[p] - rows.example0) * tile.stride;
    const T* two =
        tile.data + (rows.second_parent[p] - rows.example0) * tile.stride;
    for (int64_t j = 0; j < tile.cols; ++j) {
      line[static_cast<size_t>(j)] = a * one[j] + (1 - a) * two[j];
    }
    const T* from = line.data() - columns.example0;
    T* to = mixed.data + p * mixed.stride;
    for (int64_t q = 0; q < mixed.cols; ++q) {
      const T b = static_cast<T>(columns.alpha[q]);
      to[q] = b * from[columns.first_parent[q]] +
              (1 - b) * from[columns.second_parent[q]];
    }
  }
}

template <class T>
void unmix_tile(const MixedItems& rows, const MixedItems& columns,
                const Tile<T>& mixed, const Tile<T>& tile,
                const RowLaunch& launch) {
  std::vector<T> line(static_cast<size_t>(mixed.cols));
  for (int64_t k = launch.begin; k < launch.end; ++k) {
    for (T& x : line) x = 0;
    for (int64_t c = rows.child_start[k]; c < rows.child_start[k + 1]; ++c) {
      const T share = static_cast<T>(rows.child_share[c]);
      const T* from =
          mixed.data + (rows.children[c] - rows.item0) * mixed.stride;
      for (int64_t q = 0; q < mixed.cols; ++q) {
        line[static_cast<size_t>(q)] += share * from[q];
      }
    }
    T* to = tile.data + k * tile.stride;
    for (int64_t l = 0; l < tile.cols; ++l) {
      T sum = 0;
      for (int64_t c = columns.child_start[l]; c < columns.child_start[l + 1];
           ++c) {
        sum += static_cast<T>(columns.child_share[c]) *
               line[static_cast<size_t>(columns.children[c] - columns.item0)];
      }
      to[l] = sum;
    }
  }
}

template <class T>
void mix_slots(const MixedItems& set, const MixedSlots<T>& slots,
               const RowLaunch& launch) {
  for (int64_t p = launch.begin; p < launch.end; ++p) {
    const int64_t i = set.first_parent[p];
    const int64_t j = set.second_parent[p];
    const T a = static_cast<T>(set.alpha[p]);
    const int64_t first = slots.example_first[i];
    const T* one = slots.examples + slots.example_slot[i] - first;
    const T* two = slots.examples + slots.example_slot[j] - first;
    T* to = slots.items + slots.item_slot[p] - slots.item_first[p];
    for (int64_t q = slots.item_first[p]; q < slots.item_last[p]; ++q) {
      const int64_t k = set.first_parent[q];
      const int64_t l = set.second_parent[q];
      const T b = static_cast<T>(set.alpha[q]);
      to[q] = b * (a * one[k] + (1 - a) * two[k]) +
              (1 - b) * (a * one[l] + (1 - a) * two[l]);
    }
  }
}

template <class T>
void unmix_slots(const MixedItems& set, const MixedSlots<T>& slots,
                 const RowLaunch& launch) {
  for (int64_t k = launch.begin; k < launch.end; ++k) {
    const int64_t first = slots.example_first[k];
    T* to = slots.examples + slots.example_slot[k] - first;
    for (int64_t l = first; l < slots.example_last[k]; ++l) {
      T sum = 0;
      for (int64_t c = set.child_start[k]; c < set.child_start[k + 1]; ++c) {
        const int64_t p = set.children[c];
        const T* from = slots.items + slots.item_slot[p] - slots.item_first[p];
        T part = 0;
        for (int64_t e = set.child_start[l]; e < set.child_start[l + 1]; ++e) {
          part += static_cast<T>(set.child_share[e]) * from[set.children[e]];
        }
        sum += static_cast<T>(set.child_share[c]) * part;
      }
      to[l] = sum;
    }
  }
}

template <class T>
constexpr ClassOps<T> kOps = {
    similarities<T>, row_gradients<T>, column_gradients<T>, mix_tile<T>,
    unmix_tile<T>,   mix_slots<T>,     unmix_slots<T>};

}  // namespace

template <>
const ClassOps<float>& cpu_class_ops<float>() {
  return kOps<float>;
}
template <>
const ClassOps<double>& cpu_class_ops<double>() {
  return kOps<double>;
}

}  // namespace kith
