#pragma once

#include <cmath>

#include "kith/ops/bf16.h"

namespace kith {

/// What follows a layer, number by number.
enum class Activation { kNone, kRelu, kRelu6, kSilu, kHardswish };

/// Whether the slope follows from what the activation made, so that nothing
/// else must be kept for the gradient.
KITH_BOTH_SIDES constexpr bool slope_follows_from_result(Activation a) {
  return a != Activation::kSilu && a != Activation::kHardswish;
}

/// f(x). NaN stays NaN.
template <Activation kind, class S>
KITH_BOTH_SIDES S activate(S x) {
  if constexpr (kind == Activation::kRelu) {
    return x < 0 ? S(0) : x;
  } else if constexpr (kind == Activation::kRelu6) {
    return x < 0 ? S(0) : x > 6 ? S(6) : x;
  } else if constexpr (kind == Activation::kSilu) {
    return x / (1 + std::exp(-x));
  } else if constexpr (kind == Activation::kHardswish) {
    return x <= -3 ? S(0) : x >= 3 ? x : x * (x + 3) / 6;
  } else {
    return x;
  }
}

/// df/dx, `at` being f(x) where slope_follows_from_result() and x elsewhere. At
/// corners that of LibTorch; of ReLU6 that of hardtanh(), with which the layers
/// of convolutional networks compute it.
template <Activation kind, class S>
KITH_BOTH_SIDES S activation_slope(S at) {
  if constexpr (kind == Activation::kRelu) {
    return at <= 0 ? S(0) : S(1);
  } else if constexpr (kind == Activation::kRelu6) {
    return at <= 0 || at >= 6 ? S(0) : S(1);
  } else if constexpr (kind == Activation::kSilu) {
    const S share = 1 / (1 + std::exp(-at));
    return share * (1 + at * (1 - share));
  } else if constexpr (kind == Activation::kHardswish) {
    return at < -3 ? S(0) : at <= 3 ? at / 3 + S(0.5) : S(1);
  } else {
    return S(1);
  }
}

/// Calls act.template operator()<kind>() for the kind.
template <class Act>
void for_activation(Activation kind, const Act& act) {
  switch (kind) {
    case Activation::kNone:
      return act.template operator()<Activation::kNone>();
    case Activation::kRelu:
      return act.template operator()<Activation::kRelu>();
    case Activation::kRelu6:
      return act.template operator()<Activation::kRelu6>();
    case Activation::kSilu:
      return act.template operator()<Activation::kSilu>();
    case Activation::kHardswish:
      return act.template operator()<Activation::kHardswish>();
  }
}

}  // namespace kith
