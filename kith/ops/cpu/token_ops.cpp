// A row at a time: on the CPU these show what the kernels for GPUs compute.

#include <algorithm>
#include <cmath>
#include <vector>

#include "kith/ops/smooth_activations.h"
#include "kith/ops/token_kernels.h"

namespace kith {
namespace {

/// The rows of the parts of a launch.
struct RowRange {
  RowRange(int64_t rows, int64_t rows_each, const RowLaunch& launch)
      : begin(launch.begin * rows_each),
        end(std::min(rows, launch.end * rows_each)) {}
  int64_t begin;
  int64_t end;
};

template <class T>
T at_or(const T* values, int64_t i, T otherwise) {
  return values == nullptr ? otherwise : values[i];
}

template <class S, class C, class N>
void add_norm(const AddNorm<S, C, N>& p, const RowLaunch& launch) {
  const RowRange range(p.rows, p.rows_each, launch);
  std::vector<S> y(static_cast<size_t>(p.width));
  for (int64_t row = range.begin; row < range.end; ++row) {
    const S factor = at_or(p.factor, row / p.tokens, S(1));
    S sum = 0;
    for (int64_t k = 0; k < p.width; ++k) {
      S value = p.x[row * p.width + k];
      if (p.a != nullptr) {
        const S branch = static_cast<S>(widen(p.a[row * p.width + k])) +
                         at_or(p.bias, k, S(0));
        value += factor * at_or(p.scale, k, S(1)) * branch;
      }
      y[static_cast<size_t>(k)] = value;
      sum += value;
    }
    const S mean = sum / static_cast<S>(p.width);
    S square = 0;
    for (const S value : y) square += (value - mean) * (value - mean);
    const S inverse = 1 / std::sqrt(square / static_cast<S>(p.width) + p.eps);
    for (int64_t k = 0; k < p.width; ++k) {
      const S value = y[static_cast<size_t>(k)];
      if (p.y != nullptr) p.y[row * p.width + k] = value;
      p.n[row * p.width + k] =
          narrow<N>((value - mean) * inverse * p.gamma[k] + p.beta[k]);
    }
    if (p.mean == nullptr) continue;
    p.mean[row] = mean;
    p.inverse[row] = inverse;
  }
}

template <class S, class C, class N>
void add_norm_backward(const AddNormGradient<S, C, N>& p,
                       const RowLaunch& launch) {
  const AddNorm<S, C, N>& of = p.of;
  const int64_t width = of.width;
  const int64_t parts = parts_of(of.rows, of.rows_each);
  const int64_t kinds = sums_of(p);
  for (int64_t part = launch.begin; part < launch.end; ++part) {
    S* sums[4] = {};
    for (int64_t i = 0; i < kinds; ++i) {
      sums[i] = p.sums + (i * parts + part) * width;
      std::fill_n(sums[i], width, S(0));
    }
    const RowRange range(of.rows, of.rows_each, {part, part + 1, nullptr});
    for (int64_t row = range.begin; row < range.end; ++row) {
      const S* y = of.y + row * width;
      const N* dn = p.dn + row * width;
      const S mean = of.mean[row], inverse = of.inverse[row];
      const S factor = at_or(of.factor, row / of.tokens, S(1));
      S mean_g = 0, mean_gx = 0;
      for (int64_t k = 0; k < width; ++k) {
        const S g = static_cast<S>(widen(dn[k])) * of.gamma[k];
        mean_g += g;
        mean_gx += g * (y[k] - mean) * inverse;
      }
      mean_g /= static_cast<S>(width);
      mean_gx /= static_cast<S>(width);
      for (int64_t k = 0; k < width; ++k) {
        const S out = static_cast<S>(widen(dn[k]));
        const S centred = (y[k] - mean) * inverse;
        const S d = inverse * (out * of.gamma[k] - mean_g - centred * mean_gx) +
                    (p.dy == nullptr ? S(0) : p.dy[row * width + k]);
        p.dx[row * width + k] = d;
        sums[0][k] += out * centred;
        sums[1][k] += out;
        if (p.da == nullptr) continue;
        p.da[row * width + k] =
            narrow<C>(factor * at_or(of.scale, k, S(1)) * d);
        sums[2][k] += factor * d;
        if (of.scale == nullptr) continue;
        const S branch = static_cast<S>(widen(of.a[row * width + k])) +
                         at_or(of.bias, k, S(0));
        sums[3][k] += factor * d * branch;
      }
    }
  }
}

template <class F, class S, class C>
void activate_by(const BiasActivation<S, C>& p, const RowLaunch& launch) {
  const RowRange range(p.rows, p.rows_each, launch);
  for (int64_t i = range.begin * p.width; i < range.end * p.width; ++i) {
    const S x = static_cast<S>(widen(p.u[i])) + p.bias[i % p.width];
    p.h[i] = narrow<C>(F::template at<ExactMath>(x).value);
  }
}

template <class S, class C>
void swiglu(const BiasActivation<S, C>& p, const RowLaunch& launch) {
  const RowRange range(p.rows, p.rows_each, launch);
  for (int64_t row = range.begin; row < range.end; ++row) {
    const C* u = p.u + row * 2 * p.width;
    for (int64_t k = 0; k < p.width; ++k) {
      const S gate = static_cast<S>(widen(u[k])) + p.bias[k];
      const S value =
          static_cast<S>(widen(u[p.width + k])) + p.bias[p.width + k];
      p.h[row * p.width + k] =
          narrow<C>(Silu::at<ExactMath>(gate).value * value);
    }
  }
}

template <class F, class S, class C>
void activate_backward_by(const BiasActivationGradient<S, C>& p,
                          const RowLaunch& launch) {
  const BiasActivation<S, C>& of = p.of;
  for (int64_t part = launch.begin; part < launch.end; ++part) {
    S* sums = p.sums + part * of.width;
    std::fill_n(sums, of.width, S(0));
    const RowRange range(of.rows, of.rows_each, {part, part + 1, nullptr});
    for (int64_t row = range.begin; row < range.end; ++row) {
      for (int64_t k = 0; k < of.width; ++k) {
        const int64_t i = row * of.width + k;
        const S x = static_cast<S>(widen(of.u[i])) + of.bias[k];
        const S d =
            static_cast<S>(widen(p.dh[i])) * F::template at<ExactMath>(x).slope;
        p.du[i] = narrow<C>(d);
        sums[k] += d;
      }
    }
  }
}

template <class S, class C>
void swiglu_backward(const BiasActivationGradient<S, C>& p,
                     const RowLaunch& launch) {
  const BiasActivation<S, C>& of = p.of;
  const int64_t width = of.width;
  for (int64_t part = launch.begin; part < launch.end; ++part) {
    S* sums = p.sums + part * 2 * width;
    std::fill_n(sums, 2 * width, S(0));
    const RowRange range(of.rows, of.rows_each, {part, part + 1, nullptr});
    for (int64_t row = range.begin; row < range.end; ++row) {
      const C* u = of.u + row * 2 * width;
      C* du = p.du + row * 2 * width;
      for (int64_t k = 0; k < width; ++k) {
        const auto gate = Silu::at<ExactMath>(
            static_cast<S>(static_cast<S>(widen(u[k])) + of.bias[k]));
        const S value =
            static_cast<S>(widen(u[width + k])) + of.bias[width + k];
        const S out = static_cast<S>(widen(p.dh[row * width + k]));
        const S first = out * value * gate.slope;
        const S second = out * gate.value;
        du[k] = narrow<C>(first);
        du[width + k] = narrow<C>(second);
        sums[k] += first;
        sums[width + k] += second;
      }
    }
  }
}

template <class S, class C>
void activate(const BiasActivation<S, C>& p, const RowLaunch& launch) {
  switch (p.activation) {
    case TokenActivation::kGelu:
      return activate_by<Gelu>(p, launch);
    case TokenActivation::kGeluTanh:
      return activate_by<GeluTanh>(p, launch);
    case TokenActivation::kQuickGelu:
      return activate_by<QuickGelu>(p, launch);
    case TokenActivation::kRelu6:
      return activate_by<Relu6>(p, launch);
    case TokenActivation::kSwiglu:
      return swiglu(p, launch);
  }
}

template <class S, class C>
void activate_backward(const BiasActivationGradient<S, C>& p,
                       const RowLaunch& launch) {
  switch (p.of.activation) {
    case TokenActivation::kGelu:
      return activate_backward_by<Gelu>(p, launch);
    case TokenActivation::kGeluTanh:
      return activate_backward_by<GeluTanh>(p, launch);
    case TokenActivation::kQuickGelu:
      return activate_backward_by<QuickGelu>(p, launch);
    case TokenActivation::kRelu6:
      return activate_backward_by<Relu6>(p, launch);
    case TokenActivation::kSwiglu:
      return swiglu_backward(p, launch);
  }
}

template <class S, class C>
void pack(const PackedHeads<S, C>& p, const RowLaunch& launch) {
  const int64_t width = p.width();
  for (int64_t part = launch.begin; part < launch.end; ++part) {
    S* sums = p.sums == nullptr ? nullptr : p.sums + part * width;
    if (sums != nullptr) std::fill_n(sums, width, S(0));
    const RowRange range(p.rows(), p.rows_each, {part, part + 1, nullptr});
    for (int64_t row = range.begin; row < range.end; ++row) {
      for (int64_t k = 0; k < width; ++k) {
        const auto& from = p.parts[k / (p.heads * p.size)];
        const C value =
            from.data[row / p.tokens * from.picture +
                      row % p.tokens * from.token +
                      k / p.size % p.heads * from.head + k % p.size];
        p.packed[row * width + k] = value;
        if (sums != nullptr) sums[k] += static_cast<S>(widen(value));
      }
    }
  }
}

template <class S, class C, class N>
constexpr AddNormOps<S, C, N> kAddNorm = {add_norm<S, C, N>,
                                          add_norm_backward<S, C, N>};
template <class S, class C>
constexpr TokenOps<S, C> kTokens = {activate<S, C>, activate_backward<S, C>,
                                    pack<S, C>};

}  // namespace

template <>
const AddNormOps<float, float, float>& cpu_add_norm_ops() {
  return kAddNorm<float, float, float>;
}
template <>
const AddNormOps<double, double, double>& cpu_add_norm_ops() {
  return kAddNorm<double, double, double>;
}
template <>
const AddNormOps<float, Bf16, Bf16>& cpu_add_norm_ops() {
  return kAddNorm<float, Bf16, Bf16>;
}
template <>
const AddNormOps<float, Bf16, float>& cpu_add_norm_ops() {
  return kAddNorm<float, Bf16, float>;
}
template <>
const TokenOps<float, float>& cpu_token_ops() {
  return kTokens<float, float>;
}
template <>
const TokenOps<double, double>& cpu_token_ops() {
  return kTokens<double, double>;
}
template <>
const TokenOps<float, Bf16>& cpu_token_ops() {
  return kTokens<float, Bf16>;
}

}  // namespace kith
