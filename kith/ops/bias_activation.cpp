#include "kith/ops/bias_activation.h"

#include <torch/torch.h>

#include "kith/ops/fused_way.h"
#include "kith/ops/token_launch.h"

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// How many numbers of u make one that comes out.
int64_t halves(TokenActivation activation) {
  return activation == TokenActivation::kSwiglu ? 2 : 1;
}

template <class S, class C>
BiasActivation<S, C> activation_problem(const Tensor& u, const Tensor& bias,
                                        TokenActivation activation) {
  BiasActivation<S, C> p;
  p.activation = activation;
  p.width = bias.numel() / halves(activation);
  p.rows = u.numel() / std::max<int64_t>(1, bias.numel());
  p.rows_each = rows_of_a_part(p.rows, column_parts(p.width));
  p.u = given_numbers<C>(u);
  p.bias = given_numbers<S>(bias);
  return p;
}

Tensor run_activation(const Tensor& u, const Tensor& bias,
                      TokenActivation activation) {
  std::vector<int64_t> sizes = u.sizes().vec();
  sizes.back() /= halves(activation);
  const Tensor h = at::empty(sizes, u.options());
  with_types(bias.scalar_type(), u.scalar_type(), [&]<class S, class C>(S, C) {
    auto p = activation_problem<S, C>(u, bias, activation);
    p.h = given_numbers<C>(h);
    run_on_parts(u, parts_of(p.rows, p.rows_each), p,
                 cpu_token_ops<S, C>().activate,
                 cuda_token_ops<S, C>().activate);
  });
  return h;
}

/// du and the gradient of the bias.
variable_list run_activation_backward(const Tensor& u, const Tensor& bias,
                                      const Tensor& dh,
                                      TokenActivation activation) {
  const Tensor du = at::empty_like(u);
  Tensor sums;
  with_types(bias.scalar_type(), u.scalar_type(), [&]<class S, class C>(S, C) {
    BiasActivationGradient<S, C> p;
    p.of = activation_problem<S, C>(u, bias, activation);
    const int64_t parts = parts_of(p.of.rows, p.of.rows_each);
    sums = at::empty({parts, bias.numel()}, bias.options());
    p.dh = given_numbers<C>(dh);
    p.du = given_numbers<C>(du);
    p.sums = given_numbers<S>(sums);
    run_on_parts(u, parts, p, cpu_token_ops<S, C>().activate_backward,
                 cuda_token_ops<S, C>().activate_backward);
  });
  return {du, sums.sum(0), {}};
}

class BiasActivationFunction
    : public torch::autograd::Function<BiasActivationFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& u,
                          const Variable& bias, int64_t activation) {
    context->save_for_backward({u, bias});
    context->saved_data["activation"] = activation;
    return run_activation(u, bias, static_cast<TokenActivation>(activation));
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    refuse_second_derivative("bias_activation");
    const variable_list saved = context->get_saved_variables();
    const auto activation =
        static_cast<TokenActivation>(context->saved_data["activation"].toInt());
    return run_activation_backward(saved[0], saved[1], laid_out(outer[0]),
                                   activation);
  }
};

}  // namespace

Tensor activated(const Tensor& x, TokenActivation activation) {
  switch (activation) {
    case TokenActivation::kGelu:
      return at::gelu(x);
    case TokenActivation::kGeluTanh:
      return at::gelu(x, "tanh");
    case TokenActivation::kQuickGelu:
      return x * at::sigmoid(1.702 * x);
    case TokenActivation::kRelu6:
      return at::clamp(x, 0, 6);
    case TokenActivation::kSwiglu:
      break;
  }
  const std::vector<Tensor> parts = x.chunk(2, -1);
  return at::silu(parts[0]) * parts[1];
}

Tensor bias_activation(const Tensor& u, const Tensor& bias,
                       TokenActivation activation) {
  TORCH_CHECK_VALUE(
      has_token_ops(u.device(), bias.scalar_type(), u.scalar_type()) &&
          u.dim() > 0 && bias.dim() == 1 && u.size(-1) == bias.numel() &&
          bias.numel() % (halves(activation) * (u.is_cuda() ? 8 : 1)) == 0,
      "[bias_activation] not for ", u.toString(), " ", u.sizes(), " and ",
      bias.toString(), " ", bias.sizes());
  const Tensor rows = laid_out(u), offsets = laid_out(bias);
  if (at::GradMode::is_enabled()) {
    return BiasActivationFunction::apply(rows, offsets,
                                         static_cast<int64_t>(activation));
  }
  return run_activation(rows, offsets, activation);
}

}  // namespace kith
