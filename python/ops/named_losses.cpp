// An operator for each loss of kith's registry that has no parameters, under
// the loss's name and with its options as typed arguments: a new loss needs
// nothing here. Each puts kith::_loss and its gradient into autograd.
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>

#include "kith/losses/unit_embeddings.h"
#include "kith/ops/known_gradient.h"
#include "python/ops/run_loss.h"

namespace kith::ops {
namespace {

using torch::jit::Stack;

/// An option's type as a schema writes it: "float", "int[]".
std::string schema_type(const std::string& type) {
  constexpr std::string_view kList = "list of ";
  if (type.starts_with(kList)) {
    return schema_type(type.substr(kList.size())) + "[]";
  }
  if (type == "true or false") return "bool";
  if (type == "text") return "str";
  return type;
}

/// The same for a value; `type` is that of the list for its items.
std::string schema_value(const ConfigNode& node, const std::string& type) {
  if (node.kind == ConfigNode::Kind::kList) {
    std::vector<std::string> items;
    for (const ConfigNode& item : node.items) {
      items.push_back(schema_value(item, type));
    }
    return std::string("[") + join(items) + "]";
  }
  if (type.starts_with("bool")) return node.scalar == "true" ? "True" : "False";
  if (type.starts_with("str")) return std::string("\"") + node.scalar + "\"";
  return node.scalar;
}

std::string schema(const std::string& name,
                   const std::vector<OptionInfo>& options) {
  std::string text = name + "(" + kInputs;
  for (const OptionInfo& option : options) {
    const std::string type = schema_type(option.type);
    text += ", " + type + " " + option.name + "=" +
            schema_value(option.default_value, type);
  }
  return text + ") -> Tensor";
}

/// A value as a configuration writes it.
template <class T>
ConfigNode written(T value) {
  return Option("", &value, "").write();
}

ConfigNode to_node(const c10::IValue& value) {
  if (value.isBool()) return written(value.toBool());
  if (value.isInt()) return written(value.toInt());
  if (value.isDouble()) return written(value.toDouble());
  if (value.isString()) return written(std::string(value.toStringRef()));
  if (value.isIntList()) return written(value.toIntVector());
  if (value.isDoubleList()) return written(value.toDoubleVector());
  std::vector<std::string> words;
  for (const c10::IValue& word : value.toListRef()) {
    words.push_back(word.toStringRef());
  }
  return written(words);
}

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
  return at::GradMode::is_enabled() && tensor.defined() &&
         tensor.requires_grad();
}

/// The kernel of all losses: `op` says which. Runs above autograd.
void run_named(const c10::OperatorHandle& op, Stack* stack) {
  static const auto run_loss =
      c10::Dispatcher::singleton().findSchemaOrThrow("kith::_loss", "");
  const std::vector<c10::Argument>& arguments = op.schema().arguments();
  Stack given = torch::jit::pop(*stack, arguments.size());
  const std::string& name = op.schema().name();  // "kith::recall_at_k"
  // Those that are not at their defaults: reading text takes time.
  ConfigNode options = ConfigNode::map();
  for (size_t i = kInputCount; i < given.size(); ++i) {
    if (*arguments[i].default_value() == given[i]) continue;
    options.set(arguments[i].name(), to_node(given[i]));
  }
  TORCH_CHECK_VALUE(given[kEmbeddings].toTensor().defined() &&
                        given[kEmbeddings + 1].toTensor().defined(),
                    "embeddings and labels must be tensors, got None");
  widen(given[kEmbeddings]);
  widen(given[kDatabase]);
  const Tensor embeddings = given[kEmbeddings].toTensor();
  const Tensor database =
      given[kDatabase].isTensor() ? given[kDatabase].toTensor() : Tensor();
  const bool with_gradient =
      needs_gradient(embeddings) || needs_gradient(database);

  Stack inner = {name.substr(name.find("::") + 2), to_yaml(options)};
  inner.insert(inner.end(), given.begin(), given.begin() + kInputCount);
  inner.emplace_back(with_gradient);
  {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    run_loss.callBoxed(&inner);
  }
  Tensor value = inner[0].toTensor();
  if (with_gradient) {
    value = known_gradient(value, {embeddings, database},
                           {inner[1].toTensor(), inner[2].toTensor()});
  }
  stack->emplace_back(std::move(value));
}

/// An operator is a function of its arguments: what a loss learns itself would
/// have no place.
bool has_parameters(const std::string& name) {
  ConfigNode node = ConfigNode::map();
  node.set("name", ConfigNode::text(name));
  return !example_loss(node)->named_parameters().is_empty();
}

/// The losses that are operators.
const std::vector<std::string>& operator_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found = loss_registry().names();
    std::erase_if(found, has_parameters);
    return found;
  }();
  return names;
}

}  // namespace

TORCH_LIBRARY(kith, m) {
  for (const std::string& name : operator_names()) {
    const auto options = loss_registry().entries().at(name).options();
    m.def(schema(name, options).c_str(),
          torch::CppFunction::makeFromBoxedFunction<run_named>());
  }
  m.def("_names() -> str[]", [] { return operator_names(); });
}

}  // namespace kith::ops

/// python/kith_ops.py reads this from the file before it loads the library.
extern "C" __attribute__((used, visibility("default")))
const char kith_ops_torch[] = "kith_ops: built with torch " TORCH_VERSION ";";
