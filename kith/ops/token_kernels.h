#pragma once

// What a vision transformer does between its products and its attention: adding
// branches to tokens and normalising these, activations, and heads. All of it
// is bound by memory, so each of these is one pass over what it reads and
// writes. Plain structs, without LibTorch; cpu/ and cuda/ have an
// implementation each.
//
// S is the type of tokens, parameters and sums, C the type in which products
// are computed: float and Bf16 on a GPU that computes in bfloat16, otherwise
// the same. Statistics and sums are S. Matrices are contiguous; on a GPU their
// widths are multiples of 8 and they begin at multiples of 16 bytes.
//
// Sums over rows are those of parts of `rows_each` rows, for the caller to add
// up: no order depends on what runs when, so results have the same bits.

#include <algorithm>
#include <cstdint>

#include "kith/ops/bf16.h"
#include "kith/ops/rows/table.h"

namespace kith {

/// y = x + factor scale (a + bias), n = (y - mean(y)) / std(y) gamma + beta,
/// row by row. N is the type of n: C, or S after the last block.
template <class S, class C, class N>
struct AddNorm {
  int64_t rows = 0;
  int64_t width = 0;
  int64_t rows_each = 1;  ///< Of a part.
  int64_t tokens = 1;     ///< Rows of a picture, which share a factor.
  S eps = 0;
  const S* x = nullptr;       ///< [rows, width]
  const C* a = nullptr;       ///< [rows, width]; null: nothing is added.
  const S* bias = nullptr;    ///< [width]; null: 0.
  const S* scale = nullptr;   ///< [width]; null: 1.
  const S* factor = nullptr;  ///< [rows / tokens]; null: 1.
  const S* gamma = nullptr;   ///< [width]
  const S* beta = nullptr;    ///< [width]
  S* y = nullptr;             ///< [rows, width]; null: not wanted.
  N* n = nullptr;             ///< [rows, width]
  S* mean = nullptr;          ///< [rows]; null: not wanted.
  S* inverse = nullptr;       ///< [rows] 1 / std(y); with the mean.
};

/// With x^ = (y - mean) / std and g = gamma dn,
///
///     d = dy + (g - mean(g) - x^ mean(g x^)) / std
///
/// is dx, and da = factor scale d.
template <class S, class C, class N>
struct AddNormGradient {
  /// Without x, beta and what comes out but y, mean and inverse; `a` and
  /// `bias` only for the gradient of `scale`.
  AddNorm<S, C, N> of;
  const N* dn = nullptr;  ///< [rows, width]
  const S* dy = nullptr;  ///< [rows, width]; null: 0.
  S* dx = nullptr;        ///< [rows, width]
  C* da = nullptr;        ///< [rows, width]; null: nothing was added.
  /// [2, 3 or 4, parts, width]: of dn x^, of dn; with `da` of factor d; and
  /// with `scale` of factor d (a + bias).
  S* sums = nullptr;
};

template <class S, class C, class N>
int64_t sums_of(const AddNormGradient<S, C, N>& p) {
  return p.of.scale != nullptr ? 4 : p.da != nullptr ? 3 : 2;
}

enum class TokenActivation { kGelu, kGeluTanh, kQuickGelu, kRelu6, kSwiglu };

/// h = f(u + bias), or with SwiGLU h = silu(u1 + bias1) (u2 + bias2) of the
/// halves of u.
template <class S, class C>
struct BiasActivation {
  TokenActivation activation = TokenActivation::kGelu;
  int64_t rows = 0;
  int64_t width = 0;  ///< Of h.
  int64_t rows_each = 1;
  const C* u = nullptr;     ///< [rows, width] or [rows, 2 width]
  const S* bias = nullptr;  ///< As wide as u.
  C* h = nullptr;           ///< [rows, width]
};

template <class S, class C>
struct BiasActivationGradient {
  BiasActivation<S, C> of;  ///< Without h.
  const C* dh = nullptr;    ///< [rows, width]
  C* du = nullptr;          ///< As u.
  S* sums = nullptr;        ///< [parts, width of u]: of du.
};

/// Gradients of queries, keys and values [pictures, heads, tokens, size] in any
/// strides, numbers of a head side by side, -> one matrix [pictures tokens,
/// 3 heads size].
template <class S, class C>
struct PackedHeads {
  struct Part {
    const C* data = nullptr;
    int64_t picture = 0;  ///< Strides.
    int64_t head = 0;
    int64_t token = 0;
  };
  int64_t pictures = 0;
  int64_t heads = 0;
  int64_t tokens = 0;
  int64_t size = 0;
  int64_t rows_each = 1;
  Part parts[3];
  C* packed = nullptr;
  S* sums = nullptr;  ///< [parts, 3 heads size]: of columns; null: not wanted.

  KITH_BOTH_SIDES int64_t rows() const { return pictures * tokens; }
  KITH_BOTH_SIDES int64_t width() const { return 3 * heads * size; }
};

inline int64_t parts_of(int64_t rows, int64_t rows_each) {
  return (rows + rows_each - 1) / rows_each;
}

/// Rows of a part, so that there are at most `parts`: a multiple of what a
/// kernel reads at a time.
inline int64_t rows_of_a_part(int64_t rows, int64_t parts) {
  constexpr int64_t kAtATime = 4;
  const int64_t each = parts_of(rows, std::max<int64_t>(parts, 1));
  return std::max<int64_t>(1, parts_of(each, kAtATime)) * kAtATime;
}

// Parts that a large GPU, one of 132 multiprocessors, works on at once: a
// thread has eight columns of AddNorm, and blocks of at most 256 threads share
// the columns of the others.
constexpr int64_t kMultiprocessors = 132;

inline int64_t norm_parts(int64_t width) {
  const int64_t warps = parts_of(width, 8 * 32);
  return kMultiprocessors *
         std::max<int64_t>(1, 16 / std::max<int64_t>(warps, 1));
}

inline int64_t column_parts(int64_t width) {
  const int64_t tiles = std::max<int64_t>(1, parts_of(width, 8 * 256));
  return std::max<int64_t>(kMultiprocessors, 5 * kMultiprocessors / tiles);
}

/// The implementations for a kind of processor, each of the parts from
/// launch.begin to launch.end on the CPU and of all on a GPU. Null pointers
/// where there is none: without CUDA, there in double, and but for AddNorm,
/// which also follows a block that adds nothing more, in float.
template <class S, class C, class N>
struct AddNormOps {
  void (*forward)(const AddNorm<S, C, N>&, const RowLaunch&) = nullptr;
  void (*backward)(const AddNormGradient<S, C, N>&, const RowLaunch&) = nullptr;
};
template <class S, class C>
struct TokenOps {
  void (*activate)(const BiasActivation<S, C>&, const RowLaunch&) = nullptr;
  void (*activate_backward)(const BiasActivationGradient<S, C>&,
                            const RowLaunch&) = nullptr;
  void (*pack)(const PackedHeads<S, C>&, const RowLaunch&) = nullptr;
};

template <class S, class C, class N>
const AddNormOps<S, C, N>& cpu_add_norm_ops();
template <class S, class C, class N>
const AddNormOps<S, C, N>& cuda_add_norm_ops();
template <class S, class C>
const TokenOps<S, C>& cpu_token_ops();
template <class S, class C>
const TokenOps<S, C>& cuda_token_ops();

// Those that there are.
template <>
const AddNormOps<float, float, float>& cpu_add_norm_ops();
template <>
const AddNormOps<double, double, double>& cpu_add_norm_ops();
template <>
const AddNormOps<float, Bf16, Bf16>& cpu_add_norm_ops();
template <>
const AddNormOps<float, Bf16, float>& cpu_add_norm_ops();
template <>
const AddNormOps<float, float, float>& cuda_add_norm_ops();
template <>
const AddNormOps<double, double, double>& cuda_add_norm_ops();
template <>
const AddNormOps<float, Bf16, Bf16>& cuda_add_norm_ops();
template <>
const AddNormOps<float, Bf16, float>& cuda_add_norm_ops();
template <>
const TokenOps<float, float>& cpu_token_ops();
template <>
const TokenOps<double, double>& cpu_token_ops();
template <>
const TokenOps<float, Bf16>& cpu_token_ops();
template <>
const TokenOps<float, float>& cuda_token_ops();
template <>
const TokenOps<double, double>& cuda_token_ops();
template <>
const TokenOps<float, Bf16>& cuda_token_ops();

}  // namespace kith
