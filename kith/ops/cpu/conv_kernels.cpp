// The twins of the kernels of cuda/: the same formulas and as many parts of
// sums, one number after another. The order of additions may differ.

#include "kith/ops/conv_kernels.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kith {
namespace {

/// Part `part` of `count` things in `parts` parts.
struct PartRange {
  PartRange(int64_t count, int64_t parts, int64_t part)
      : begin(count * part / parts), end(count * (part + 1) / parts) {}
  int64_t begin;
  int64_t end;
};

template <class T>
void bias_act(const BiasAct<T>& p, void*) {
  for_activation(p.activation, [&]<Activation kind>() {
    for (int64_t i = 0; i < p.rows * p.channels; ++i) {
      Sum<T> x = widen(p.x[i]);
      if (p.bias != nullptr) x += p.bias[i % p.channels];
      if (p.shortcut != nullptr) x += widen(p.shortcut[i]);
      p.y[i] = narrow<T>(activate<kind>(x));
    }
  });
}

template <class T>
void bias_act_gradient(const BiasActGradient<T>& p, void*) {
  std::fill_n(p.sums, p.parts * p.channels, Sum<T>(0));
  for_activation(p.activation, [&]<Activation kind>() {
    for (int64_t part = 0; part < p.parts; ++part) {
      const PartRange rows(p.rows, p.parts, part);
      Sum<T>* sums = p.sums + part * p.channels;
      for (int64_t i = rows.begin * p.channels; i < rows.end * p.channels;
           ++i) {
        const int64_t c = i % p.channels;
        Sum<T> g = widen(p.gradient[i]);
        if constexpr (kind != Activation::kNone) {
          Sum<T> at = widen(p.saved[i]);
          if (p.bias != nullptr) at += p.bias[c];
          g *= activation_slope<kind>(at);
        }
        sums[c] += g;
        if (p.before != nullptr) p.before[i] = narrow<T>(g);
      }
    }
  });
}

/// Calls work(input, tap, output) with the place in x, in the kernel and in y
/// of all products of channel 0.
template <class T, class Work>
void for_each_product(const Depthwise<T>& p, int64_t out_begin, int64_t out_end,
                      const Work& work) {
  const int64_t padding = (p.kernel - 1) / 2;
  for (int64_t out = out_begin; out < out_end; ++out) {
    const int64_t column = out % p.out_width;
    const int64_t row = out / p.out_width % p.out_height;
    const int64_t image = out / p.out_width / p.out_height;
    for (int64_t tap = 0; tap < p.kernel * p.kernel; ++tap) {
      const int64_t y = row * p.stride - padding + tap / p.kernel;
      const int64_t x = column * p.stride - padding + tap % p.kernel;
      if (y < 0 || y >= p.height || x < 0 || x >= p.width) continue;
      work(((image * p.height + y) * p.width + x) * p.channels,
           tap * p.channels, out * p.channels);
    }
  }
}

template <class T>
int64_t outputs(const Depthwise<T>& p) {
  return p.images * p.out_height * p.out_width;
}

template <class T>
void depthwise(const Depthwise<T>& p, const T* x, const Sum<T>* bias,
               Activation activation, T* y, void*) {
  std::vector<Sum<T>> sums(static_cast<size_t>(outputs(p) * p.channels));
  for (int64_t c = 0; c < p.channels; ++c) {
    for_each_product(p, 0, outputs(p),
                     [&](int64_t in, int64_t tap, int64_t out) {
                       sums[static_cast<size_t>(out + c)] +=
                           p.weight[tap + c] * widen(x[in + c]);
                     });
  }
  for_activation(activation, [&]<Activation kind>() {
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto c = static_cast<int64_t>(i) % p.channels;
      const Sum<T> shift = bias == nullptr ? Sum<T>(0) : bias[c];
      y[i] = narrow<T>(activate<kind>(sums[i] + shift));
    }
  });
}

template <class T>
void depthwise_input(const Depthwise<T>& p, const T* g, T* dx, void*) {
  std::vector<Sum<T>> sums(
      static_cast<size_t>(p.images * p.height * p.width * p.channels));
  for (int64_t c = 0; c < p.channels; ++c) {
    for_each_product(p, 0, outputs(p),
                     [&](int64_t in, int64_t tap, int64_t out) {
                       sums[static_cast<size_t>(in + c)] +=
                           p.weight[tap + c] * widen(g[out + c]);
                     });
  }
  std::transform(sums.begin(), sums.end(), dx,
                 [](Sum<T> sum) { return narrow<T>(sum); });
}

template <class T>
void depthwise_weight(const Depthwise<T>& p, const T* x, const T* g,
                      Sum<T>* sums, int64_t parts, void*) {
  const int64_t taps = p.kernel * p.kernel;
  std::fill_n(sums, parts * taps * p.channels, Sum<T>(0));
  for (int64_t part = 0; part < parts; ++part) {
    Sum<T>* own = sums + part * taps * p.channels;
    const PartRange range(outputs(p), parts, part);
    for (int64_t c = 0; c < p.channels; ++c) {
      for_each_product(p, range.begin, range.end,
                       [&](int64_t in, int64_t tap, int64_t out) {
                         own[tap + c] += widen(x[in + c]) * widen(g[out + c]);
                       });
    }
  }
}

template <class T>
Sum<T> inverse_deviation(const NormFold<T>& p, int64_t c) {
  return 1 / std::sqrt(p.var[c] + static_cast<Sum<T>>(p.eps));
}

template <class T>
void fold(const NormFold<T>& p, const FoldedNorm<T>& to, void*) {
  for (int64_t c = 0; c < p.channels; ++c) {
    const Sum<T> scale = p.gamma[c] * inverse_deviation(p, c);
    for (int64_t i = 0; i < p.inner; ++i) {
      const Sum<T> w = p.weight[c * p.inner + i] * scale;
      if (to.weight != nullptr) to.weight[c * p.inner + i] = narrow<T>(w);
      if (to.by_place != nullptr) to.by_place[i * p.channels + c] = w;
    }
    const Sum<T> bias = p.beta[c] - p.mean[c] * scale;
    to.bias[c] = bias;
    to.bias_as_maps[c] = narrow<T>(bias);
  }
}

template <class T>
void fold_gradient(const NormFold<T>& p, const FoldGradient<T>& of, void*) {
  for (int64_t c = 0; c < p.channels; ++c) {
    const Sum<T> inverse = inverse_deviation(p, c);
    Sum<T> sum = 0;
    for (int64_t i = 0; i < p.inner; ++i) {
      const int64_t at = c * p.inner + i;
      const Sum<T> g = of.weight != nullptr ? Sum<T>(widen(of.weight[at]))
                                            : of.by_place[i * p.channels + c];
      sum += g * p.weight[at];
      of.to_weight[at] = g * p.gamma[c] * inverse;
    }
    of.to_gamma[c] = (sum - of.bias[c] * p.mean[c]) * inverse;
  }
}

/// `x` is what there is of p.x and p.wide.
template <class T, class From>
void stem_map(const StemMap<T>& p, const From* x) {
  T* y = p.y;
  for (int64_t row = 0; row < p.images * p.out_height; ++row) {
    const int64_t image = row / p.out_height;
    const int64_t in_row = 2 * (row % p.out_height - p.before);
    for (int64_t j = 0; j < p.out_width; ++j, y += p.kChannels) {
      const int64_t column = 2 * (j - p.before);
      std::fill_n(y, p.kChannels, T());
      if (in_row < 0 || in_row >= p.height || column < 0 || column >= p.width) {
        continue;
      }
      for (int64_t k = 0; k < 4 * p.channels; ++k) {
        const int64_t below = k / (2 * p.channels);
        const int64_t at =
            (image * p.height + in_row + below) * p.width + column;
        y[k] =
            narrow<T>(Sum<T>(widen(x[at * p.channels + k % (2 * p.channels)])));
      }
    }
  }
}

template <class T>
void stem_map(const StemMap<T>& p, void*) {
  p.x != nullptr ? stem_map(p, p.x) : stem_map(p, p.wide);
}

template <class T>
constexpr ConvKernels<T> kKernels = {1,
                                     bias_act<T>,
                                     bias_act_gradient<T>,
                                     depthwise<T>,
                                     depthwise_input<T>,
                                     depthwise_weight<T>,
                                     fold<T>,
                                     fold_gradient<T>,
                                     stem_map<T>};

}  // namespace

template <>
const ConvKernels<float>& cpu_conv_kernels<float>() {
  return kKernels<float>;
}
template <>
const ConvKernels<double>& cpu_conv_kernels<double>() {
  return kKernels<double>;
}
template <>
const ConvKernels<Bf16>& cpu_conv_kernels<Bf16>() {
  return kKernels<Bf16>;
}

}  // namespace kith
