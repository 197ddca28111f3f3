// The kernels on the tokens of transformers, beside their twins.

#include "kith/ops/token_kernels.h"
#include "tests/racecheck/check.h"

namespace kith::racecheck {
namespace {

// The last part has one row, where kernels read several at a time.
constexpr int64_t kRows = 13;
constexpr int64_t kRowsEach = 4;
constexpr int64_t kParts = 4;

/// Which terms of the branch there are.
struct NormCase {
  bool adds, bias, scale, factor;
};
constexpr NormCase kNormCases[] = {{false, false, false, false},
                                   {true, false, false, false},
                                   {true, true, false, true},
                                   {true, false, true, false},
                                   {true, true, true, true}};

/// What forward and backward give.
template <class C, class N>
struct NormRun {
  explicit NormRun(int64_t width)
      : y(kRows * width),
        mean(kRows),
        inverse(kRows),
        n(kRows * width),
        dx(kRows * width),
        da(kRows * width),
        sums(4 * kParts * width) {}

  /// `p` has what goes in, `x` its tokens.
  void run(const AddNormOps<float, C, N>& ops, AddNorm<float, C, N> p,
           const Shared<float>& x, const Shared<N>& dn,
           const Shared<float>& dy) {
    const bool adds = p.a != nullptr;
    p.y = adds ? y.data() : nullptr;
    p.n = n.data();
    p.mean = mean.data();
    p.inverse = inverse.data();
    const RowLaunch launch{0, kParts, nullptr};
    ops.forward(p, launch);
    AddNormGradient<float, C, N> back;
    back.of = p;
    if (!adds) back.of.y = x.data();
    back.dn = dn.data();
    back.dy = dy.data();
    back.dx = dx.data();
    back.da = adds ? da.data() : nullptr;
    back.sums = sums.data();
    ops.backward(back, launch);
  }

  bool is_close_to(const NormRun& other) const {
    return y.is_close_to(other.y) && mean.is_close_to(other.mean) &&
           inverse.is_close_to(other.inverse) && n.is_close_to(other.n) &&
           dx.is_close_to(other.dx) && da.is_close_to(other.da) &&
           sums.is_close_to(other.sums);
  }

  Shared<float> y, mean, inverse;
  Shared<N> n;
  Shared<float> dx;
  Shared<C> da;
  Shared<float> sums;
};

template <class C, class N>
bool norm_case_is_right(const NormCase& c, int64_t width) {
  constexpr int64_t kTokens = 3;
  constexpr int64_t kPictures = (kRows + kTokens - 1) / kTokens;
  const int64_t count = kRows * width;
  const Shared<float> x(count), dy(count), bias(width), scale(width);
  const Shared<float> factor(kPictures), gamma(width), beta(width);
  const Shared<C> a(count);
  const Shared<N> dn(count);
  draw_numbers(x, count, 1);
  draw_numbers(a, count, 2);
  draw_numbers(bias, width, 3);
  draw_numbers(scale, width, 4);
  draw_numbers(factor, kPictures, 5);
  draw_numbers(gamma, width, 6);
  draw_numbers(beta, width, 7);
  draw_numbers(dn, count, 8);
  draw_numbers(dy, count, 9);
  AddNorm<float, C, N> p;
  p.rows = kRows;
  p.width = width;
  p.rows_each = kRowsEach;
  p.tokens = kTokens;
  p.eps = 1e-5F;
  p.x = x.data();
  p.a = c.adds ? a.data() : nullptr;
  p.bias = c.bias ? bias.data() : nullptr;
  p.scale = c.scale ? scale.data() : nullptr;
  p.factor = c.factor ? factor.data() : nullptr;
  p.gamma = gamma.data();
  p.beta = beta.data();
  NormRun<C, N> got(width), twin(width);
  got.run(cuda_add_norm_ops<float, C, N>(), p, x, dn, dy);
  finish();
  twin.run(cpu_add_norm_ops<float, C, N>(), p, x, dn, dy);
  return got.is_close_to(twin);
}

/// Rows of one warp and of several, read in pairs, and rows so wide that they
/// are read one by one; some threads have no columns.
template <class C, class N>
bool add_norm_is_right() {
  bool right = true;
  for (const int64_t width : {16, 264, 4104}) {
    for (const NormCase& c : kNormCases) {
      right = norm_case_is_right<C, N>(c, width) && right;
    }
  }
  return right;
}

using C = Bf16;  ///< The type of products.

bool activation_is_right(TokenActivation activation, int64_t width) {
  const int64_t in = activation == TokenActivation::kSwiglu ? 2 * width : width;
  const Shared<C> u(kRows * in), dh(kRows * width);
  const Shared<float> bias(in);
  // Beyond the corners of ReLU6, and into the tails of the others.
  draw_numbers(u, kRows * in, 1, 10);
  draw_numbers(dh, kRows * width, 2);
  draw_numbers(bias, in, 3);
  BiasActivation<float, C> p;
  p.activation = activation;
  p.rows = kRows;
  p.width = width;
  p.rows_each = kRowsEach;
  p.u = u.data();
  p.bias = bias.data();
  const auto run = [&](const TokenOps<float, C>& ops, const Shared<C>& h,
                       const Shared<C>& du, const Shared<float>& sums) {
    const RowLaunch launch{0, kParts, nullptr};
    BiasActivation<float, C> forward = p;
    forward.h = h.data();
    ops.activate(forward, launch);
    BiasActivationGradient<float, C> back;
    back.of = p;
    back.dh = dh.data();
    back.du = du.data();
    back.sums = sums.data();
    ops.activate_backward(back, launch);
  };
  const Shared<C> h(kRows * width), du(kRows * in);
  const Shared<C> h_twin(kRows * width), du_twin(kRows * in);
  const Shared<float> sums(kParts * in), sums_twin(kParts * in);
  run(cuda_token_ops<float, C>(), h, du, sums);
  finish();
  run(cpu_token_ops<float, C>(), h_twin, du_twin, sums_twin);
  return h.is_close_to(h_twin) && du.is_close_to(du_twin) &&
         sums.is_close_to(sums_twin);
}

/// Of one tile of columns and of two.
bool activations_are_right() {
  bool right = true;
  for (const int64_t width : {264, 2056}) {
    for (const TokenActivation activation :
         {TokenActivation::kGelu, TokenActivation::kGeluTanh,
          TokenActivation::kQuickGelu, TokenActivation::kRelu6,
          TokenActivation::kSwiglu}) {
      right = activation_is_right(activation, width) && right;
    }
  }
  return right;
}

bool packing_of(int64_t heads, int64_t size) {
  constexpr int64_t kPictures = 3, kTokens = 7;
  const int64_t count = kPictures * heads * kTokens * size;
  const Shared<C> queries(count), keys(count), values(count);
  draw_numbers(queries, count, 1);
  draw_numbers(keys, count, 2);
  draw_numbers(values, count, 3);
  PackedHeads<float, C> p;
  p.pictures = kPictures;
  p.heads = heads;
  p.tokens = kTokens;
  p.size = size;
  p.rows_each = kRowsEach;
  // Head by head, token by token, and one picture's for all.
  p.parts[0] = {queries.data(), heads * kTokens * size, kTokens * size, size};
  p.parts[1] = {keys.data(), heads * kTokens * size, size, heads * size};
  p.parts[2] = {values.data(), 0, kTokens * size, size};
  const int64_t parts = parts_of(p.rows(), p.rows_each);
  const auto run = [&](const TokenOps<float, C>& ops, const Shared<C>& packed,
                       const Shared<float>& sums) {
    PackedHeads<float, C> here = p;
    here.packed = packed.data();
    here.sums = sums.data();
    ops.pack(here, {0, parts, nullptr});
  };
  const int64_t all = p.rows() * p.width();
  const Shared<C> packed(all), packed_twin(all);
  const Shared<float> sums(parts * p.width()), sums_twin(parts * p.width());
  run(cuda_token_ops<float, C>(), packed, sums);
  finish();
  run(cpu_token_ops<float, C>(), packed_twin, sums_twin);
  return packed.is_close_to(packed_twin) && sums.is_close_to(sums_twin);
}

/// Of one tile of columns and of two.
bool packing_is_right() { return packing_of(2, 16) && packing_of(12, 64); }

[[maybe_unused]] const bool kTokenChecks[] = {
    add_check("add and norm float32", add_norm_is_right<float, float>),
    add_check("add and norm bfloat16", add_norm_is_right<Bf16, Bf16>),
    add_check("add and norm to float32", add_norm_is_right<Bf16, float>),
    add_check("token activations", activations_are_right),
    add_check("packed heads", packing_is_right)};

}  // namespace
}  // namespace kith::racecheck
