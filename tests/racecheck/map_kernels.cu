// The kernels on maps, on rows and the steps of optimisers, beside their twins.

#include <cmath>

#include "kith/ops/conv_kernels.h"
#include "kith/ops/optimizer_kernels.h"
#include "kith/ops/pool_kernels.h"
#include "kith/ops/unit_kernels.h"
#include "tests/racecheck/check.h"

namespace kith::racecheck {
namespace {

using T = Bf16;  ///< The type of maps.

/// What parts add up to.
bool sums_agree(const Shared<float>& a, const Shared<float>& b, int64_t parts,
                int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0, other = 0;
    for (int64_t part = 0; part < parts; ++part) {
      sum += a[part * count + i];
      other += b[part * count + i];
    }
    if (!(std::abs(sum - other) <= 1e-4 * (1 + std::abs(other)))) return false;
  }
  return true;
}

bool bias_act_is_right() {
  constexpr int64_t kRows = 301, kChannels = 40, kParts = 3;
  constexpr int64_t kCount = kRows * kChannels;
  const Shared<T> x(kCount), shortcut(kCount);
  const Shared<Sum<T>> bias(kChannels);
  draw_numbers(x, kCount, 1);
  draw_numbers(shortcut, kCount, 2);
  draw_numbers(bias, kChannels, 3);
  bool right = true;
  for (const Activation f :
       {Activation::kNone, Activation::kRelu6, Activation::kSilu}) {
    const Shared<T> y(kCount), twin(kCount), g(kCount), g_twin(kCount);
    const Shared<Sum<T>> sums(kParts * kChannels),
        sums_twin(kParts * kChannels);
    BiasAct<T> p{kRows,       kChannels,       f,       x.data(),
                 bias.data(), shortcut.data(), y.data()};
    cuda_conv_kernels<T>().bias_act(p, nullptr);
    BiasActGradient<T> back{kRows,    kChannels,   f,
                            x.data(), y.data(),    bias.data(),
                            g.data(), sums.data(), kParts};
    cuda_conv_kernels<T>().bias_act_gradient(back, nullptr);
    finish();
    p.y = twin.data();
    cpu_conv_kernels<T>().bias_act(p, nullptr);
    back.before = g_twin.data();
    back.sums = sums_twin.data();
    cpu_conv_kernels<T>().bias_act_gradient(back, nullptr);
    right = right && y.is_close_to(twin) && g.is_close_to(g_twin) &&
            sums_agree(sums, sums_twin, kParts, kChannels);
  }
  return right;
}

bool depthwise_is_right() {
  constexpr int64_t kImages = 2, kChannels = 136, kHeight = 17, kWidth = 11;
  constexpr int64_t kParts = 5;
  bool right = true;
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      Depthwise<T> p;
      p.images = kImages;
      p.channels = kChannels;
      p.height = kHeight;
      p.width = kWidth;
      p.out_height = (kHeight - 1) / stride + 1;
      p.out_width = (kWidth - 1) / stride + 1;
      p.kernel = kernel;
      p.stride = stride;
      const int64_t in = kImages * kHeight * kWidth * kChannels;
      const int64_t out = kImages * p.out_height * p.out_width * kChannels;
      const int64_t taps = kernel * kernel * kChannels;
      const Shared<T> x(in), g(out);
      const Shared<Sum<T>> weight(taps), bias(kChannels);
      draw_numbers(x, in, 1);
      draw_numbers(g, out, 2);
      draw_numbers(weight, taps, 3);
      draw_numbers(bias, kChannels, 4);
      p.weight = weight.data();
      const Shared<T> y(out), dx(in);
      const Shared<T> y_twin(out), dx_twin(in);
      const Shared<Sum<T>> dw(kParts * taps), dw_twin(kParts * taps);
      const auto run = [&](const ConvKernels<T>& kernels, const Shared<T>& to_y,
                           const Shared<T>& to_dx,
                           const Shared<Sum<T>>& to_dw) {
        kernels.depthwise(p, x.data(), bias.data(), Activation::kRelu,
                          to_y.data(), nullptr);
        kernels.depthwise_input(p, g.data(), to_dx.data(), nullptr);
        kernels.depthwise_weight(p, x.data(), g.data(), to_dw.data(), kParts,
                                 nullptr);
      };
      run(cuda_conv_kernels<T>(), y, dx, dw);
      finish();
      run(cpu_conv_kernels<T>(), y_twin, dx_twin, dw_twin);
      right = right && y.is_close_to(y_twin) && dx.is_close_to(dx_twin) &&
              sums_agree(dw, dw_twin, kParts, taps);
    }
  }
  return right;
}

bool fold_is_right() {
  constexpr int64_t kOut = 24, kInner = 150;
  constexpr int64_t kCount = kOut * kInner;
  const Shared<Sum<T>> weight(kCount), gamma(kOut), beta(kOut), mean(kOut);
  const Shared<Sum<T>> var(kOut), dw_by_place(kCount), db(kOut);
  const Shared<T> dw(kCount);
  draw_numbers(weight, kCount, 1);
  draw_numbers(gamma, kOut, 2);
  draw_numbers(beta, kOut, 3);
  draw_numbers(mean, kOut, 4);
  draw_numbers(dw, kCount, 5);
  draw_numbers(dw_by_place, kCount, 5);
  draw_numbers(db, kOut, 6);
  for (int64_t c = 0; c < kOut; ++c) var[c] = 0.5F + mean[c] * mean[c];
  const NormFold<T> p{kOut,         kInner,      1e-3,        weight.data(),
                      gamma.data(), beta.data(), mean.data(), var.data()};
  /// What comes out.
  struct Folded {
    Shared<T> weight{kCount}, low{kOut};
    Shared<Sum<T>> by_place{kCount}, bias{kOut}, to{kCount}, to_gamma{kOut};
  };
  bool right = true;
  for (const bool by_place : {false, true}) {
    const Folded got, twin;
    const auto run = [&](const ConvKernels<T>& kernels, const Folded& out) {
      FoldedNorm<T> folded;
      if (by_place) {
        folded.by_place = out.by_place.data();
      } else {
        folded.weight = out.weight.data();
      }
      folded.bias = out.bias.data();
      folded.bias_as_maps = out.low.data();
      kernels.fold(p, folded, nullptr);
      FoldGradient<T> of;
      if (by_place) {
        of.by_place = dw_by_place.data();
      } else {
        of.weight = dw.data();
      }
      of.bias = db.data();
      of.to_weight = out.to.data();
      of.to_gamma = out.to_gamma.data();
      kernels.fold_gradient(p, of, nullptr);
    };
    run(cuda_conv_kernels<T>(), got);
    finish();
    run(cpu_conv_kernels<T>(), twin);
    right = right && got.weight.is_close_to(twin.weight) &&
            got.by_place.is_close_to(twin.by_place) &&
            got.bias.is_close_to(twin.bias) && got.low.is_close_to(twin.low) &&
            got.to.is_close_to(twin.to) &&
            got.to_gamma.is_close_to(twin.to_gamma);
  }
  return right;
}

bool gem_is_right() {
  // More positions than a thread of the gradient has.
  constexpr int64_t kImages = 3, kChannels = 24, kPositions = 35;
  constexpr int64_t kMeans = kImages * kChannels;
  constexpr int64_t kCount = kMeans * kPositions;
  const Shared<T> x(kCount), dx(kCount), dx2(kCount);
  const Shared<Sum<T>> power(1), dy(kMeans);
  const Shared<Sum<T>> mean(kMeans), log_mean(kMeans), y(kMeans), dp(kMeans);
  const Shared<Sum<T>> mean2(kMeans), log_mean2(kMeans), y2(kMeans),
      dp2(kMeans);
  draw_numbers(x, kCount, 1);
  draw_numbers(dy, kMeans, 2);
  power[0] = 2.5F;
  GemPool<T> p{kImages,      kPositions, kChannels,   x.data(),
               power.data(), 1e-6F,      mean.data(), log_mean.data()};
  cuda_pool_kernels<T>().gem(p, y.data(), nullptr);
  cuda_pool_kernels<T>().gem_gradient(p, dy.data(), dx.data(), dp.data(),
                                      nullptr);
  finish();
  p.mean = mean2.data();
  p.log_mean = log_mean2.data();
  cpu_pool_kernels<T>().gem(p, y2.data(), nullptr);
  cpu_pool_kernels<T>().gem_gradient(p, dy.data(), dx2.data(), dp2.data(),
                                     nullptr);
  return mean.is_close_to(mean2) && log_mean.is_close_to(log_mean2) &&
         y.is_close_to(y2) && dx.is_close_to(dx2) && dp.is_close_to(dp2);
}

bool max_is_right() {
  constexpr int64_t kImages = 3, kChannels = 24, kHeight = 9, kWidth = 8;
  constexpr int64_t kCount = kImages * kChannels * kHeight * kWidth;
  const Shared<T> x(kCount);
  draw_numbers(x, kCount, 1);
  MaxPool<T> max;
  max.images = kImages;
  max.channels = kChannels;
  max.height = kHeight;
  max.width = kWidth;
  max.out_height = MaxPool<T>::out_size(kHeight);
  max.out_width = MaxPool<T>::out_size(kWidth);
  const int64_t out = kImages * kChannels * max.out_height * max.out_width;
  const Shared<T> y(out), y2(out), back(kCount), back2(kCount);
  const Shared<uint8_t> place(out), place2(out);
  const auto run = [&](const PoolKernels<T>& kernels, const Shared<T>& largest,
                       const Shared<uint8_t>& where, const Shared<T>& to_max) {
    kernels.max(max, x.data(), largest.data(), where.data(), nullptr);
    kernels.max_gradient(max, largest.data(), where.data(), to_max.data(),
                         nullptr);
  };
  run(cuda_pool_kernels<T>(), y, place, back);
  finish();
  run(cpu_pool_kernels<T>(), y2, place2, back2);
  return y.is_close_to(y2) && place.is_close_to(place2) &&
         back.is_close_to(back2);
}

bool unit_rows_are_right() {
  constexpr int64_t kRows = 7, kWidth = 301;
  constexpr int64_t kCount = kRows * kWidth;
  const Shared<float> x(kCount), du(kCount), unit(kCount), dx(kCount);
  const Shared<float> unit2(kCount), dx2(kCount);
  const Shared<float> sizes(2 * kRows), sizes2(2 * kRows);
  draw_numbers(x, kCount, 1);
  draw_numbers(du, kCount, 2);
  for (int64_t k = 0; k < kWidth; ++k) x[3 * kWidth + k] = 0;
  const auto run = [&](const UnitKernels<float>& kernels,
                       const Shared<float>& to, const Shared<float>& of,
                       const Shared<float>& back) {
    UnitRowsGradient<float> p;
    p.of = {kRows, kWidth, x.data(), to.data(), of.data(), of.data() + kRows};
    p.du = du.data();
    p.dx = back.data();
    kernels.forward(p.of, nullptr);
    kernels.backward(p, nullptr);
  };
  run(cuda_unit_kernels<float>(), unit, sizes, dx);
  finish();
  run(cpu_unit_kernels<float>(), unit2, sizes2, dx2);
  return unit.is_close_to(unit2) && sizes.is_close_to(sizes2) &&
         dx.is_close_to(dx2);
}

bool steps_are_right() {
  constexpr int64_t kCount = 40000;
  const Shared<float> g(kCount), m(kCount), v(kCount), p(kCount);
  const Shared<float> m2(kCount), v2(kCount), p2(kCount);
  const Shared<float> speed(kCount), q(kCount), speed2(kCount), q2(kCount);
  draw_numbers(g, kCount, 1);
  for (const auto* parameters : {&p, &p2, &q, &q2}) {
    draw_numbers(*parameters, kCount, 2);
  }
  AdamScalars adam;
  adam.beta1 = 0.9F;
  adam.gain1 = 0.1F;
  adam.beta2 = 0.99F;
  adam.gain2 = 0.01F;
  adam.root = 10;
  adam.eps = 1e-8F;
  adam.step = 0.01F;
  const SgdScalars sgd{0.1F, 0.9F, 0.01F, true};
  gpu_steps.adam(adam, {{{g.data(), m.data(), v.data(), p.data()}, kCount}},
                 nullptr);
  for (int step = 0; step < 2; ++step) {
    gpu_steps.sgd(sgd, {{{g.data(), speed.data(), q.data()}, kCount}}, nullptr);
  }
  const Shared<double> sums(GpuSteps::pieces_of(kCount));
  gpu_steps.squares({{{g.data()}, kCount}}, sums.data(), nullptr);
  finish();
  double sum = 0, expected = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    step_number(adam, g[i], m2[i], v2[i], p2[i]);
    for (int step = 0; step < 2; ++step) {
      step_number(sgd, g[i], speed2[i], q2[i]);
    }
    expected += static_cast<double>(g[i]) * g[i];
  }
  for (int64_t i = 0; i < GpuSteps::pieces_of(kCount); ++i) sum += sums[i];
  return m.is_close_to(m2) && v.is_close_to(v2) && p.is_close_to(p2) &&
         speed.is_close_to(speed2) && q.is_close_to(q2) &&
         std::abs(sum - expected) <= 1e-9 * expected;
}

[[maybe_unused]] const bool kMapChecks[] = {
    add_check("bias and activation", bias_act_is_right),
    add_check("depthwise", depthwise_is_right),
    add_check("folded norm", fold_is_right),
    add_check("gem", gem_is_right),
    add_check("max_pool", max_is_right),
    add_check("unit_rows", unit_rows_are_right),
    add_check("steps of optimisers", steps_are_right)};

}  // namespace
}  // namespace kith::racecheck
