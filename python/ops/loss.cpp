// kith::loss, any loss of kith's registry as a function that autograd knows:
// it puts kith::_loss and its gradients there. And what a loss learns itself.
#include "kith/losses/loss.h"

#include <algorithm>

#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>

#include "kith/ops/known_gradient.h"
#include "python/ops/run_loss.h"

namespace kith::ops {
namespace {

using torch::jit::Stack;
using MaybeInt = decltype(std::declval<c10::IValue>().toOptional<int64_t>());

/// Half precision, as autocast makes it, is computed in single.
void widen(c10::IValue& value) {
  if (!value.isTensor()) return;
  const Tensor tensor = value.toTensor();
  if (tensor.scalar_type() == at::kHalf ||
      tensor.scalar_type() == at::kBFloat16) {
    value = tensor.to(at::kFloat);
  }
}

bool needs_gradient(const Tensor& tensor) {
  return at::GradMode::is_enabled() && tensor.requires_grad();
}

/// Runs above autograd.
void differentiable_loss(const c10::OperatorHandle&, Stack* stack) {
  static const auto run_loss =
      c10::Dispatcher::singleton().findSchemaOrThrow("kith::_loss", "");
  Stack inner = torch::jit::pop(*stack, kArgumentCount);
  TORCH_CHECK_VALUE(inner[kEmbeddings].toTensor().defined() &&
                        inner[kLabels].toTensor().defined(),
                    "embeddings and labels must be tensors, got None");
  widen(inner[kEmbeddings]);
  widen(inner[kDatabase]);
  std::vector<Tensor> inputs = {inner[kEmbeddings].toTensor()};
  if (inner[kDatabase].isTensor()) {
    inputs.push_back(inner[kDatabase].toTensor());
  }
  for (const Tensor& parameter : inner[kParameters].toTensorVector()) {
    inputs.push_back(parameter);
  }
  const bool with_gradient =
      std::any_of(inputs.begin(), inputs.end(), needs_gradient);
  inner.emplace_back(with_gradient);
  {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    run_loss.callBoxed(&inner);
  }
  const std::vector<Tensor> outputs = inner[0].toTensorVector();
  stack->emplace_back(with_gradient
                          ? known_gradient(outputs[0], inputs,
                                           {outputs.begin() + 1, outputs.end()})
                          : outputs[0]);
}

/// Names, first values and learning rates (0: the optimiser's) of a loss's
/// parameters, and whether weight decay holds for them.
using Start = std::tuple<std::vector<std::string>, std::vector<Tensor>,
                         std::vector<double>, bool>;

/// c10::ValueError also for options that are not allowed, and for a number of
/// classes that the loss has no use for.
Start first_parameters(const std::string& name, const std::string& options,
                       MaybeInt num_classes, MaybeInt embedding_size,
                       int64_t seed) {
  LossContext context;
  const auto positive = [](const MaybeInt& value, const char* what) {
    TORCH_CHECK_VALUE(value.value_or(1) > 0, what, " must be positive, got ",
                      value.value_or(1));
    return value.value_or(0);
  };
  context.classes = positive(num_classes, "num_classes");
  context.dim = positive(embedding_size, "embedding_size");
  context.seed = static_cast<uint64_t>(seed);
  const std::unique_ptr<Loss> loss = make_loss(name, options, context);
  TORCH_CHECK_VALUE(!num_classes || loss->classes() > 0, name,
                    ": with these options there are no parameters for classes: "
                    "leave out num_classes");
  Start start = {{}, {}, {}, loss->decays_parameters()};
  for (const auto& [key, value] : loss->named_parameters().pairs()) {
    std::get<0>(start).push_back(key);
    std::get<1>(start).push_back(value.detach());
    std::get<2>(start).push_back(loss->parameter_lr(key));
  }
  return start;
}

}  // namespace

TORCH_LIBRARY(kith, m) {
  m.def((std::string("loss(") + kArguments + ") -> Tensor").c_str(),
        torch::CppFunction::makeFromBoxedFunction<differentiable_loss>());
  m.def(
      "_parameters(str name, str options, int? num_classes=None, "
      "int? embedding_size=None, int seed=0) -> "
      "(str[], Tensor[], float[], bool)",
      first_parameters);
}

}  // namespace kith::ops

/// The Python package reads this from the file before it loads the library.
extern "C" __attribute__((used, visibility("default")))
const char kith_ops_torch[] = "kith_ops: built with torch " TORCH_VERSION ";";
