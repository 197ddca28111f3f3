#include "kith/ops/known_gradient.h"

#include <torch/torch.h>

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// Passes its first input on and has no derivative: stands behind a gradient
/// that somebody wants to differentiate.
class NoSecondDerivative
    : public torch::autograd::Function<NoSecondDerivative> {
 public:
  static Variable forward(AutogradContext*, const Variable& gradient,
                          const Variable& /*input*/,
                          const Variable& /*scale*/) {
    return gradient.clone();
  }
  static variable_list backward(AutogradContext*, const variable_list&) {
    TORCH_CHECK(false,
                "this loss has a first derivative only; a gradient penalty or "
                "create_graph=True through it is not possible");
  }
};

/// What is not a tensor in the eyes of autograd, and so no input.
struct Known {
  Tensor value;
  variable_list gradients;
};

class KnownGradient : public torch::autograd::Function<KnownGradient> {
 public:
  static Variable forward(AutogradContext* context, at::TensorList inputs,
                          const Known& known) {
    variable_list saved = inputs.vec();
    saved.insert(saved.end(), known.gradients.begin(), known.gradients.end());
    context->save_for_backward(std::move(saved));
    return known.value;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    const variable_list saved = context->get_saved_variables();
    const size_t count = saved.size() / 2;
    variable_list result;
    for (size_t i = 0; i < count; ++i) {
      const Variable scaled = saved[count + i] * outer[0].detach();
      result.push_back(
          at::GradMode::is_enabled()
              ? NoSecondDerivative::apply(scaled, saved[i], outer[0])
              : scaled);
    }
    result.emplace_back();  // for `known`
    return result;
  }
};

}  // namespace

Tensor known_gradient(const Tensor& value, const std::vector<Tensor>& inputs,
                      const std::vector<Tensor>& gradients) {
  variable_list wanted;
  Known known{value, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
    wanted.push_back(inputs[i]);
    known.gradients.push_back(gradients[i]);
  }
  if (wanted.empty()) return value;
  return KnownGradient::apply(at::TensorList(wanted), known);
}

}  // namespace kith
