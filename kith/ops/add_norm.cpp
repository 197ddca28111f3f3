#include "kith/ops/add_norm.h"

#include <torch/torch.h>

#include "kith/ops/fused_way.h"
#include "kith/ops/token_launch.h"

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// Where everything is laid out, and absent tensors are empty.
struct AddNormTensors {
  Tensor x, a, bias, scale, factor, gamma, beta;
  Tensor y = {}, n = {}, mean = {}, inverse = {};
  double eps = 0;

  int64_t width() const { return gamma.numel(); }
  int64_t rows() const { return y.numel() / std::max<int64_t>(1, width()); }

  at::ScalarType products() const {
    return is_given(a) ? a.scalar_type() : n.scalar_type();
  }

  template <class S, class C, class N>
  AddNorm<S, C, N> problem() const {
    AddNorm<S, C, N> p;
    p.rows = rows();
    p.width = width();
    p.rows_each = rows_of_a_part(p.rows, norm_parts(p.width));
    p.tokens = y.dim() < 3 ? 1 : y.size(-2);
    p.eps = static_cast<S>(eps);
    p.x = given_numbers<S>(x);
    p.a = given_numbers<C>(a);
    p.bias = given_numbers<S>(bias);
    p.scale = given_numbers<S>(scale);
    p.factor = given_numbers<S>(factor);
    p.gamma = given_numbers<S>(gamma);
    p.beta = given_numbers<S>(beta);
    p.y = given_numbers<S>(y);
    p.n = given_numbers<N>(n);
    p.mean = given_numbers<S>(mean);
    p.inverse = given_numbers<S>(inverse);
    return p;
  }
};

/// run(S{}, C{}, N{}), N being C or S.
template <class Run>
auto with_norm_types(at::ScalarType tokens, at::ScalarType products,
                     at::ScalarType norm, const Run& run) {
  return with_types(tokens, products, [&](auto s, auto c) {
    return norm == tokens ? run(s, c, s) : run(s, c, c);
  });
}

/// Fills y, n and, if `statistics` are wanted, mean and inverse.
void run_add_norm(AddNormTensors& t, at::ScalarType type, bool statistics) {
  t.y = is_given(t.a) ? at::empty_like(t.x) : t.x;
  t.n = at::empty_like(t.x, type);
  if (statistics) {
    t.mean = at::empty({t.rows()}, t.x.options());
    t.inverse = at::empty_like(t.mean);
  }
  with_norm_types(t.x.scalar_type(), t.products(), type,
                  [&]<class S, class C, class N>(S, C, N) {
                    AddNorm<S, C, N> p = t.problem<S, C, N>();
                    if (p.a == nullptr) p.y = nullptr;
                    run_on_parts(t.x, parts_of(p.rows, p.rows_each), p,
                                 cpu_add_norm_ops<S, C, N>().forward,
                                 cuda_add_norm_ops<S, C, N>().forward);
                  });
}

struct AddNormGradients {
  Tensor dx;
  Tensor da;    ///< Undefined if nothing was added.
  Tensor sums;  ///< [2, 3 or 4, width]
};

AddNormGradients run_add_norm_backward(const AddNormTensors& t,
                                       const Tensor& dy, const Tensor& dn,
                                       at::ScalarType products, bool adds) {
  AddNormGradients g;
  g.dx = at::empty_like(t.y);
  if (adds) g.da = at::empty_like(t.y, products);
  with_norm_types(
      t.y.scalar_type(), products, dn.scalar_type(),
      [&]<class S, class C, class N>(S, C, N) {
        AddNormGradient<S, C, N> p;
        p.of = t.problem<S, C, N>();
        p.dn = given_numbers<N>(dn);
        p.dy = given_numbers<S>(dy);
        p.dx = given_numbers<S>(g.dx);
        p.da = given_numbers<C>(g.da);
        const int64_t parts = parts_of(p.of.rows, p.of.rows_each);
        // As sums_of(p), which does not know it of no rows.
        const int64_t kinds = is_given(t.scale) ? 4 : adds ? 3 : 2;
        const Tensor sums = at::empty({kinds, parts, t.width()}, t.y.options());
        p.sums = given_numbers<S>(sums);
        run_on_parts(t.y, parts, p, cpu_add_norm_ops<S, C, N>().backward,
                     cuda_add_norm_ops<S, C, N>().backward);
        g.sums = sums.sum(1);
      });
  return g;
}

/// What of a call is no tensor.
struct AddNormCall {
  double eps;
  at::ScalarType type;
};

class AddNormFunction : public torch::autograd::Function<AddNormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Variable& x,
                               const Variable& a, const Variable& bias,
                               const Variable& scale, const Variable& factor,
                               const Variable& gamma, const Variable& beta,
                               const AddNormCall& call) {
    AddNormTensors t = {x, a, bias, scale, factor, gamma, beta};
    t.eps = call.eps;
    run_add_norm(t, call.type, /*statistics=*/true);
    // The branch is needed for the gradient of its scale alone.
    const bool is_scaled = is_given(scale);
    context->save_for_backward({t.y, t.mean, t.inverse, gamma, beta, bias,
                                scale, factor, is_scaled ? a : given({}, a)});
    context->saved_data["eps"] = call.eps;
    context->saved_data["adds"] = is_given(a);
    context->saved_data["products"] = static_cast<int64_t>(t.products());
    context->set_materialize_grads(false);
    return {t.y, t.n};
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    refuse_second_derivative("add_norm");
    const variable_list saved = context->get_saved_variables();
    AddNormTensors t;
    t.y = saved[0];
    t.mean = saved[1];
    t.inverse = saved[2];
    t.gamma = saved[3];
    t.beta = saved[4];
    t.bias = saved[5];
    t.scale = saved[6];
    t.factor = saved[7];
    t.a = saved[8];
    t.eps = context->saved_data["eps"].toDouble();
    const bool adds = context->saved_data["adds"].toBool();
    const auto products =
        static_cast<at::ScalarType>(context->saved_data["products"].toInt());
    const Tensor dy = laid_out(outer[0]);
    const Tensor dn =
        outer[1].defined() ? laid_out(outer[1]) : at::zeros_like(t.y, products);
    const AddNormGradients g = run_add_norm_backward(t, dy, dn, products, adds);
    variable_list all = {g.dx, g.da, {}, {}, {}, g.sums[0], g.sums[1], {}};
    const bool is_scaled = is_given(t.scale);
    if (is_given(t.bias)) {
      all[2] = is_scaled ? g.sums[2] * t.scale : g.sums[2];
    }
    if (is_scaled) all[3] = g.sums[3];
    return all;
  }
};

/// On a GPU also in float32: tokens that were mixed behind the last block come
/// to the last norm with nothing to add.
bool has_add_norm(c10::Device device, at::ScalarType tokens,
                  at::ScalarType products) {
  if (device.is_cuda() && tokens == at::kFloat && products == at::kFloat) {
    return cuda_add_norm_ops<float, float, float>().forward != nullptr;
  }
  return has_token_ops(device, tokens, products);
}

/// Kernels take them as they are.
void check_parameters(const Tensor& x, const TokenBranch& branch,
                      const TokenNorm& norm) {
  const auto check = [&](const char* name, const Tensor& tensor, int64_t size) {
    TORCH_CHECK_VALUE(
        !tensor.defined() || (tensor.numel() == size && tensor.dim() == 1 &&
                              tensor.scalar_type() == x.scalar_type() &&
                              tensor.device() == x.device()),
        "[add_norm] expected ", name, " [", size, "] of the tokens' type ",
        x.toString(), ", got ", tensor.toString(), " ", tensor.sizes());
  };
  check("gamma", norm.gamma, x.size(2));
  check("beta", norm.beta, x.size(2));
  check("bias", branch.bias, x.size(2));
  check("scale", branch.scale, x.size(2));
  check("factor", branch.factor, x.size(0));
  TORCH_CHECK_VALUE(
      branch.a.defined() || !(branch.bias.defined() || branch.scale.defined() ||
                              branch.factor.defined()),
      "[add_norm] bias, scale or factor of no branch");
}

}  // namespace

Tensor add_branch(const Tensor& x, const TokenBranch& branch) {
  if (!branch.a.defined()) return x;
  Tensor a = branch.a.to(x.scalar_type());
  if (branch.bias.defined()) a = a + branch.bias;
  if (branch.scale.defined()) a = a * branch.scale;
  if (branch.factor.defined()) a = a * branch.factor.view({-1, 1, 1});
  return x + a;
}

std::pair<Tensor, Tensor> add_norm(const Tensor& x, const TokenBranch& branch,
                                   const TokenNorm& norm, at::ScalarType type) {
  const bool adds = branch.a.defined();
  const at::ScalarType products = adds ? branch.a.scalar_type() : type;
  TORCH_CHECK_VALUE(has_add_norm(x.device(), x.scalar_type(), products) &&
                        (type == products || type == x.scalar_type()),
                    "[add_norm] not for tokens ", x.toString(),
                    " and products in ", products);
  TORCH_CHECK_VALUE(x.dim() == 3 && x.size(2) == norm.gamma.numel() &&
                        (!adds || branch.a.sizes() == x.sizes()),
                    "[add_norm] expected tokens [N, T, ", norm.gamma.numel(),
                    "], got ", x.sizes());
  check_parameters(x, branch, norm);
  const auto part = [&](const Tensor& tensor) {
    return given(laid_out(tensor), x);
  };
  const AddNormTensors t = {laid_out(x),         part(branch.a),
                            part(branch.bias),   part(branch.scale),
                            part(branch.factor), laid_out(norm.gamma),
                            laid_out(norm.beta)};
  if (at::GradMode::is_enabled()) {
    const variable_list out =
        AddNormFunction::apply(t.x, t.a, t.bias, t.scale, t.factor, t.gamma,
                               t.beta, AddNormCall{norm.eps, type});
    return {out[0], out[1]};
  }
  AddNormTensors once = t;
  once.eps = norm.eps;
  run_add_norm(once, type, /*statistics=*/false);
  return {once.y, once.n};
}

}  // namespace kith
