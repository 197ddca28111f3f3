#include "kith/onnx/make_graph.h"

#include <unordered_map>
#include <utility>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {
namespace {

namespace jit = torch::jit;

[[noreturn]] void refuse_recordings(const std::string& what) {
  throw ConfigError("the network cannot be written as ONNX: it " + what +
                    " for another number or size of pictures");
}

const Converters& all_converters() {
  static const Converters all = [] {
    Converters joined = layer_converters();
    joined.merge(number_converters());
    joined.merge(shape_converters());
    return joined;
  }();
  return all;
}

bool are_equal(const c10::IValue& a, const c10::IValue& b) {
  if (a.isTensor() && b.isTensor()) {
    const Tensor &x = a.toTensor(), &y = b.toTensor();
    return x.is_same(y) || (x.defined() == y.defined() && x.defined() &&
                            x.scalar_type() == y.scalar_type() &&
                            x.sizes() == y.sizes() && torch::equal(x, y));
  }
  if (a.isTensorList() && b.isTensorList()) {
    const auto x = a.toTensorVector(), y = b.toTensorVector();
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!are_equal(x[i], y[i])) return false;
    }
    return true;
  }
  if (a.isTensor() || b.isTensor()) return false;
  return a == b;
}

/// Goes through both recordings at once.
class GraphMaker {
 public:
  GraphMaker(Extent pictures, const WeightNames& weights, OnnxBuilder& builder)
      : pictures_(pictures), weights_(weights), builder_(builder) {}

  void add_input(const jit::Value* first, const jit::Value* second,
                 const std::string& name) {
    Traced input;
    input.name = name;
    describe(input, first, second);
    known_[first] = std::move(input);
    twins_[second] = first;
  }

  void add(jit::Node* first, jit::Node* second) {
    if (first->kind() != second->kind() ||
        first->inputs().size() != second->inputs().size() ||
        first->outputs().size() != second->outputs().size()) {
      refuse_recordings("does other operations");
    }
    for (size_t i = 0; i < first->inputs().size(); ++i) {
      if (twins_.at(second->input(i)) != first->input(i)) {
        refuse_recordings("does operations in another order");
      }
    }
    for (size_t i = 0; i < first->outputs().size(); ++i) {
      twins_[second->output(i)] = first->output(i);
    }
    if (first->kind() == c10::prim::Constant) {
      return add_constant(first, second);
    }
    if (first->kind() == c10::prim::ListConstruct) return add_list(first);
    if (first->kind() == c10::prim::ListUnpack) {
      return add_items(first, second);
    }
    std::vector<Traced> arguments = inputs_of(first);
    Traced result;
    describe(result, first->output(0), second->output(0));
    if (!fold(first, second, arguments, result)) {
      convert(first, std::move(arguments), result);
    }
    known_[first->output(0)] = std::move(result);
  }

  const Traced& value(const jit::Value* value) const {
    const auto found = known_.find(value);
    if (found == known_.end()) {
      throw ConfigError(std::string("the network cannot be written as ONNX: it "
                                    "uses a second result of ") +
                        value->node()->kind().toQualString());
    }
    return found->second;
  }

 private:
  std::vector<Traced> inputs_of(const jit::Node* node) const {
    std::vector<Traced> all;
    for (const jit::Value* input : node->inputs()) all.push_back(value(input));
    return all;
  }

  /// Sizes and type of a tensor.
  static void describe(Traced& traced, const jit::Value* first,
                       const jit::Value* second) {
    const auto a = first->type()->cast<c10::TensorType>();
    const auto b = second->type()->cast<c10::TensorType>();
    if (!a || !b) return;
    if (a->scalarType()) traced.type = *a->scalarType();
    const auto from = a->sizes().concrete_sizes();
    const auto to = b->sizes().concrete_sizes();
    if (!from || !to) return;
    if (from->size() != to->size()) refuse_recordings("has other dimensions");
    traced.extents.clear();
    for (size_t i = 0; i < from->size(); ++i) {
      traced.extents.push_back({(*from)[i], (*to)[i]});
    }
  }

  void add_constant(jit::Node* first, jit::Node* second) {
    Traced traced;
    traced.first = jit::toIValue(first->output()).value_or(c10::IValue());
    traced.second = jit::toIValue(second->output()).value_or(c10::IValue());
    traced.is_same = are_equal(traced.first, traced.second);
    describe(traced, first->output(), second->output());
    if (traced.first.isTensor() && traced.first.toTensor().defined()) {
      const auto name = weights_.find(traced.first.toTensor().data_ptr());
      if (name != weights_.end()) traced.label = name->second;
    }
    known_[first->output()] = std::move(traced);
  }

  void add_list(const jit::Node* node) {
    Traced list;
    list.items = inputs_of(node);
    bool is_constant = true;
    const auto type =
        node->output()->type()->expectRef<c10::ListType>().getElementType();
    c10::impl::GenericList first(type), second(type);
    for (const Traced& item : list.items) {
      if (list.label.empty()) list.label = item.label;
      is_constant = is_constant && item.is_constant();
      list.is_same = list.is_same && item.is_same;
      if (!is_constant) continue;
      first.push_back(item.first);
      second.push_back(item.second);
    }
    if (is_constant) {
      list.first = first;
      list.second = second;
    }
    known_[node->output()] = std::move(list);
  }

  void add_items(const jit::Node* first, const jit::Node* second) {
    const Traced& list = value(first->input());
    for (size_t i = 0; i < first->outputs().size(); ++i) {
      Traced item;
      item.is_same = list.is_same;
      item.label = list.label;
      if (list.is_constant()) {
        item.first = list.first.toListRef()[i];
        item.second = list.second.toListRef()[i];
      } else {
        item = list.items.at(i);
      }
      describe(item, first->output(i), second->output(i));
      known_[first->output(i)] = std::move(item);
    }
  }

  static c10::IValue computed(jit::Node* node,
                              const std::vector<Traced>& arguments,
                              c10::IValue Traced::*member) {
    jit::Stack stack;
    for (const Traced& argument : arguments) {
      stack.push_back(argument.*member);
    }
    node->getOperation()(stack);
    return stack.front();
  }

  /// Does an operation of constants; false if it is none, or what it makes is
  /// not the same for all pictures.
  bool fold(jit::Node* first, jit::Node* second,
            const std::vector<Traced>& arguments, Traced& result) const {
    bool is_same = true;
    for (const Traced& argument : arguments) {
      if (!argument.is_constant()) return false;
      is_same = is_same && argument.is_same;
      if (result.label.empty()) result.label = argument.label;
    }
    const torch::NoGradGuard no_grad;
    const c10::IValue value = computed(first, arguments, &Traced::first);
    if (!is_same &&
        !are_equal(value, computed(second, arguments, &Traced::second))) {
      return false;
    }
    result.first = result.second = value;
    return true;
  }

  void convert(const jit::Node* node, std::vector<Traced> arguments,
               Traced& result) const {
    const auto converter = all_converters().find(node->kind().toUnqualString());
    Operation operation(*node, std::move(arguments), result, pictures_,
                        builder_);
    if (converter == all_converters().end()) {
      operation.refuse("kith has no counterpart of it");
    }
    const Operation::Names names = converter->second(operation);
    if (node->output(0)->type()->kind() != c10::TypeKind::ListType) {
      result.name = names.front();
      return;
    }
    for (const std::string& name : names) {
      result.items.emplace_back().name = name;
    }
  }

  Extent pictures_;
  const WeightNames& weights_;
  OnnxBuilder& builder_;
  std::unordered_map<const jit::Value*, Traced> known_;
  /// Of the second recording's values those of the first.
  std::unordered_map<const jit::Value*, const jit::Value*> twins_;
};

}  // namespace

void make_graph(jit::Graph& first, jit::Graph& second, Extent pictures,
                const WeightNames& weights, OnnxModel& model,
                OnnxBuilder& builder) {
  GraphMaker maker(pictures, weights, builder);
  maker.add_input(first.inputs().at(0), second.inputs().at(0),
                  model.input.name);
  auto other = second.nodes().begin();
  for (jit::Node* node : first.nodes()) {
    if (other == second.nodes().end()) {
      refuse_recordings("does fewer operations");
    }
    maker.add(node, *other);
    ++other;
  }
  const Traced& result = maker.value(first.outputs().at(0));
  if (result.name.empty()) {
    throw ConfigError(
        "the network cannot be written as ONNX: what it makes does not come "
        "from its pictures by operations of LibTorch");
  }
  builder.name_output(result.type == model.output.type
                          ? result.name
                          : builder.cast(result.name, model.output.type));
}

}  // namespace kith
