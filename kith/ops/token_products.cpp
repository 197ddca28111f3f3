#include "kith/ops/token_products.h"

#include <torch/torch.h>

#include "kith/ops/fused_way.h"
#include "kith/ops/rounded_weights.h"
#include "kith/ops/token_launch.h"

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

Tensor as_rows(const Tensor& x) { return x.reshape({-1, x.size(-1)}); }

/// The weight as products take it; no variable to LibTorch's functions.
struct ProductWeight {
  Tensor rounded;
  int64_t heads = 0;
};

/// Of x W^T given its gradient by rows: dx and dW, as far as they are wanted.
variable_list product_gradients(AutogradContext* context, const Tensor& x,
                                const Tensor& weight, const Tensor& dy) {
  const Tensor rounded = context->saved_data["rounded"].toTensor();
  variable_list all(2);
  if (context->needs_input_grad(0)) all[0] = dy.mm(rounded).view_as(x);
  if (context->needs_input_grad(1)) {
    all[1] = dy.t().mm(as_rows(x)).to(weight.scalar_type());
  }
  return all;
}

class TokenProductFunction
    : public torch::autograd::Function<TokenProductFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& x,
                          const Variable& weight, const ProductWeight& w) {
    context->save_for_backward({x, weight});
    context->saved_data["rounded"] = w.rounded;
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.back() = weight.size(0);
    return as_rows(x).mm(w.rounded.t()).view(sizes);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    refuse_second_derivative("token_product");
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    variable_list all =
        product_gradients(context, x, weight, as_rows(outer[0]));
    all.emplace_back();
    return all;
  }
};

/// [N, T, 3 heads d] -> three of [N, heads, T, d], without a copy.
variable_list split_heads(const Tensor& packed, int64_t heads) {
  return packed.view({packed.size(0), packed.size(1), 3, heads, -1})
      .permute({2, 0, 3, 1, 4})
      .unbind();
}

/// As the kernel takes gradients: numbers of a head side by side, in pieces of
/// 16 bytes.
Tensor laid_out_heads(const Tensor& x) {
  bool fits = x.stride(3) == 1 &&
              reinterpret_cast<std::uintptr_t>(x.data_ptr()) % 16 == 0;
  for (const int64_t i : {0, 1, 2}) fits = fits && x.stride(i) % 8 == 0;
  return fits ? x : laid_out(x);
}

struct PackedGradient {
  Tensor rows;  ///< [N T, 3 heads d]
  Tensor sums;  ///< [3 heads d] Their sum.
};

PackedGradient packed_gradient(const variable_list& gradients,
                               at::ScalarType type, bool summed) {
  const Tensor& any = gradients[0];
  const int64_t size = any.size(3), width = 3 * any.size(1) * size;
  const int64_t rows = any.size(0) * any.size(2);
  PackedGradient g;
  if (any.is_cuda() && size % 8 != 0) {
    g.rows =
        at::stack(gradients, 0).permute({1, 3, 0, 2, 4}).reshape({rows, width});
    if (summed) g.sums = at::sum(g.rows, 0, /*keepdim=*/false, type);
    return g;
  }
  g.rows = at::empty({rows, width}, any.options());
  with_types(type, any.scalar_type(), [&]<class S, class C>(S, C) {
    PackedHeads<S, C> p;
    p.pictures = any.size(0);
    p.heads = any.size(1);
    p.tokens = any.size(2);
    p.size = size;
    p.rows_each = rows_of_a_part(rows, column_parts(width));
    variable_list kept;  // until the kernel has started
    for (size_t i = 0; i < 3; ++i) {
      kept.push_back(laid_out_heads(gradients[i]));
      const Tensor& x = kept.back();
      p.parts[i] = {given_numbers<C>(x), x.stride(0), x.stride(1), x.stride(2)};
    }
    p.packed = given_numbers<C>(g.rows);
    const int64_t parts = parts_of(rows, p.rows_each);
    Tensor sums;
    if (summed) {
      sums = at::empty({parts, width}, any.options().dtype(type));
      p.sums = given_numbers<S>(sums);
    }
    run_on_parts(any, parts, p, cpu_token_ops<S, C>().pack,
                 cuda_token_ops<S, C>().pack);
    if (summed) g.sums = sums.sum(0);
  });
  return g;
}

class TokenHeadsFunction
    : public torch::autograd::Function<TokenHeadsFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Variable& x,
                               const Variable& weight, const Variable& bias,
                               const ProductWeight& w) {
    context->save_for_backward({x, weight, bias});
    context->saved_data["rounded"] = w.rounded;
    const Tensor rows = as_rows(x);
    const Tensor y = is_given(bias) ? at::addmm(bias.to(x.scalar_type()), rows,
                                                w.rounded.t())
                                    : rows.mm(w.rounded.t());
    return split_heads(y.view({x.size(0), x.size(1), -1}), w.heads);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    refuse_second_derivative("token_heads");
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &bias = saved[2];
    const PackedGradient g =
        packed_gradient(outer, weight.scalar_type(), is_given(bias));
    variable_list all = product_gradients(context, x, weight, g.rows);
    all.push_back(g.sums);
    all.emplace_back();
    return all;
  }
};

void check_product(const Tensor& x, const Tensor& weight) {
  TORCH_CHECK_VALUE(
      has_token_ops(x.device(), weight.scalar_type(), x.scalar_type()) &&
          x.dim() > 0 && weight.dim() == 2 && x.size(-1) == weight.size(1),
      "[token_product] not for ", x.toString(), " ", x.sizes(), " and ",
      weight.toString(), " ", weight.sizes());
}

}  // namespace

Tensor token_product(const Tensor& x, const Tensor& weight) {
  check_product(x, weight);
  return TokenProductFunction::apply(
      x, weight, ProductWeight{rounded(weight, x.scalar_type())});
}

std::array<Tensor, 3> token_heads(const Tensor& x, const Tensor& weight,
                                  const Tensor& bias, int64_t heads) {
  check_product(x, weight);
  TORCH_CHECK_VALUE(x.dim() == 3 && weight.size(0) % (3 * heads) == 0,
                    "[token_heads] expected tokens [N, T, width] and weights "
                    "of three times ",
                    heads, " heads, got ", x.sizes(), " and ", weight.sizes());
  const variable_list parts = TokenHeadsFunction::apply(
      x, weight, given(bias, weight),
      ProductWeight{rounded(weight, x.scalar_type()), heads});
  return {parts[0], parts[1], parts[2]};
}

}  // namespace kith
