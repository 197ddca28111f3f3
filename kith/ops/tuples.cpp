#include "kith/ops/tuples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/core/lane_sum.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// Multiplications that are worth a thread.
constexpr int64_t kGrain = 1 << 16;

/// Rows of `dim` numbers that are worth a thread.
int64_t grain_of(int64_t dim) { return kGrain / std::max<int64_t>(dim, 1) + 1; }

template <class T>
void cpu_distances(const Tensor& x, const Tensor& left, const Tensor& right,
                   bool squared, const Tensor& distances) {
  const int64_t dim = x.size(1);
  const T* rows = x.data_ptr<T>();
  const int64_t* l = left.data_ptr<int64_t>();
  const int64_t* r = right.data_ptr<int64_t>();
  T* out = distances.data_ptr<T>();
  at::parallel_for(
      0, left.size(0), grain_of(dim), [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          out[n] = squared_distance(rows + l[n] * dim, rows + r[n] * dim, dim);
          if (!squared) out[n] = std::sqrt(out[n]);
        }
      });
}

/// The pairs that name each row, by rows: entries start[i] to start[i + 1] are
/// those of row i, in the order of the pairs.
struct Meetings {
  std::vector<int64_t> start, other, pair;

  Meetings(const Tensor& left, const Tensor& right, int64_t rows)
      : start(static_cast<size_t>(rows) + 1),
        other(static_cast<size_t>(2 * left.size(0))),
        pair(other.size()) {
    const int64_t* l = left.data_ptr<int64_t>();
    const int64_t* r = right.data_ptr<int64_t>();
    const int64_t count = left.size(0);
    for (int64_t n = 0; n < count; ++n) {
      ++start[static_cast<size_t>(l[n]) + 1];
      ++start[static_cast<size_t>(r[n]) + 1];
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    const auto put = [&](int64_t row, int64_t to, int64_t n) {
      const auto place = static_cast<size_t>(next[static_cast<size_t>(row)]++);
      other[place] = to;
      pair[place] = n;
    };
    for (int64_t n = 0; n < count; ++n) {
      put(l[n], r[n], n);
      put(r[n], l[n], n);
    }
  }
};

/// dx_i = sum over the pairs (i, j) of weight (x_i - x_j). Each row is summed
/// by one thread in one order.
template <class T>
void cpu_gradient(const Tensor& x, const Meetings& meetings,
                  const Tensor& weights, const Tensor& gradient) {
  const int64_t dim = x.size(1);
  const T* rows = x.data_ptr<T>();
  const T* weight = weights.data_ptr<T>();
  T* out = gradient.data_ptr<T>();
  const auto per_row =
      static_cast<int64_t>(meetings.pair.size()) / x.size(0) + 1;
  at::parallel_for(
      0, x.size(0), grain_of(dim * per_row), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T* mine = rows + i * dim;
          T* to = out + i * dim;
          const auto last = meetings.start[static_cast<size_t>(i) + 1];
          for (auto m = meetings.start[static_cast<size_t>(i)]; m < last; ++m) {
            const auto place = static_cast<size_t>(m);
            const T w = weight[meetings.pair[place]];
            const T* other = rows + meetings.other[place] * dim;
            for (int64_t k = 0; k < dim; ++k) to[k] += w * (mine[k] - other[k]);
          }
        }
      });
}

bool has_kernel(const Tensor& x) {
  return x.is_cpu() &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
}

/// dL / d(x_left - x_right) is this times the difference; zero at distance
/// zero, and where the square is below the smallest normal number: that has too
/// few digits, or none.
Tensor weights_of(const Tensor& outer, const Tensor& distances, bool squared) {
  if (squared) return outer * 2;
  const double least =
      std::sqrt(distances.scalar_type() == at::kDouble
                    ? std::numeric_limits<double>::min()
                    : double{std::numeric_limits<float>::min()});
  const Tensor none = distances < least;
  return outer / distances.masked_fill(none, 1) * none.logical_not();
}

class PairDistances : public torch::autograd::Function<PairDistances> {
 public:
  static Variable forward(AutogradContext* context, const Variable& x,
                          const Variable& left, const Variable& right,
                          bool squared) {
    Tensor difference;  // [N, D], kept for the gradient without a kernel
    Tensor distances;
    if (has_kernel(x)) {
      distances = torch::empty({left.size(0)}, x.options());
      AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "pair_distances", [&] {
        cpu_distances<scalar_t>(x.contiguous(), left, right, squared,
                                distances);
      });
    } else {
      difference = x.index_select(0, left) - x.index_select(0, right);
      distances =
          squared ? difference.square().sum(1) : difference.norm(2, {1});
    }
    context->saved_data["squared"] = squared;
    context->save_for_backward(
        {x, left, right, difference, distances.detach()});
    return distances;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    const variable_list saved = context->get_saved_variables();
    const bool squared = context->saved_data["squared"].toBool();
    const Tensor gradient =
        at::GradMode::is_enabled()
            ? again(saved, outer[0], squared)
            : once(saved, weights_of(outer[0], saved[4], squared));
    return {gradient, {}, {}, {}};
  }

 private:
  static Tensor once(const variable_list& saved, const Tensor& weights) {
    const Tensor& x = saved[0];
    const Tensor& left = saved[1];
    const Tensor& right = saved[2];
    Tensor gradient = torch::zeros(x.sizes(), x.options());
    if (left.size(0) == 0) return gradient;
    if (!has_kernel(x)) {
      const Tensor part = saved[3] * weights.unsqueeze(1);
      return gradient.index_add_(0, left, part)
          .index_add_(0, right, part, /*alpha=*/-1);
    }
    const Meetings meetings(left, right, x.size(0));
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "pair_distances", [&] {
      cpu_gradient<scalar_t>(x.contiguous(), meetings, weights.contiguous(),
                             gradient);
    });
    return gradient;
  }

  /// The same of operations that can be differentiated again.
  static Tensor again(const variable_list& saved, const Tensor& outer,
                      bool squared) {
    const Tensor& x = saved[0];
    const Tensor from = x.index_select(0, saved[1]);
    const Tensor to = x.index_select(0, saved[2]);
    const Tensor weights = weights_of(
        outer, squared ? saved[4] : row_distances(from, to), squared);
    const Tensor part = (from - to) * weights.unsqueeze(1);
    return torch::zeros_like(x)
        .index_add(0, saved[1], part)
        .index_add(0, saved[2], part, /*alpha=*/-1);
  }
};

}  // namespace

Tensor pair_distances(const Tensor& x, const Tensor& left, const Tensor& right,
                      bool squared) {
  return PairDistances::apply(x, left.contiguous(), right.contiguous(),
                              squared);
}

void require_tuples(const Tensor& tuples) {
  TORCH_CHECK_VALUE(tuples.defined(),
                    "this loss needs tuples, such as a miner finds");
}

std::vector<Tensor> tuple_distances(
    const Tensor& x, const Tensor& tuples,
    const std::vector<std::pair<int64_t, int64_t>>& pairs, bool squared) {
  require_tuples(tuples);
  std::vector<Tensor> left;
  std::vector<Tensor> right;
  for (const auto& [from, to] : pairs) {
    left.push_back(tuples.select(1, from));
    right.push_back(tuples.select(1, to));
  }
  return pair_distances(x, torch::cat(left), torch::cat(right), squared)
      .view({static_cast<int64_t>(pairs.size()), tuples.size(0)})
      .unbind(0);
}

Tensor hinge_mean(const Tensor& terms, bool only_active) {
  if (only_active) return terms.sum() / (terms > 0).sum().clamp_min(1);
  return terms.numel() == 0 ? terms.sum() : terms.mean();
}

Tensor keep_bad_visible(const Tensor& value, const Tensor& x) {
  return value + x.detach().sum() * 0;
}

}  // namespace kith
