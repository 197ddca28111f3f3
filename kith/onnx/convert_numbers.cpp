#include <cmath>

#include <torch/torch.h>

#include "kith/onnx/operation.h"

// Operations number by number, and sums along dimensions.

namespace kith {
namespace {

using Names = Operation::Names;

/// For an operation that ONNX has under this name.
Converter like(const char* type) {
  return [type](Operation& op) {
    return op.add(type, {op.tensor("self", op.type())});
  };
}

std::string multiplied(Operation& op, const std::string& x, double factor) {
  return op.model().add("Mul", {x, op.model().number(factor, op.type())});
}

Names square(Operation& op) {
  const std::string x = op.tensor("self", op.type());
  return op.add("Mul", {x, x});
}

Names rsqrt(Operation& op) {
  return op.add("Reciprocal", {op.model().add("Sqrt", {op.tensor("self")})});
}

/// Between two numbers, of which one may be missing.
Names between(Operation& op, const char* low, const char* high) {
  OnnxAttributes bounds;
  if (op.has(low)) bounds.push_back({"min", op.real(low)});
  if (op.has(high)) bounds.push_back({"max", op.real(high)});
  return op.add("Clip", {op.tensor("self", op.type())}, bounds);
}

Names clamp(Operation& op) { return between(op, "min", "max"); }
Names hardtanh(Operation& op) { return between(op, "min_val", "max_val"); }

Names relu6(Operation& op) {
  return op.add("Clip", {op.tensor("self")}, {{"min", 0.0}, {"max", 6.0}});
}

Names hardsigmoid(Operation& op) {
  return op.add("HardSigmoid", {op.tensor("self")},
                {{"alpha", 1.0 / 6}, {"beta", 0.5}});
}

Names hardswish(Operation& op) {
  return op.add("Mul", {op.tensor("self"), hardsigmoid(op).front()});
}

Names silu(Operation& op) {
  const std::string x = op.tensor("self");
  return op.add("Mul", {x, op.model().add("Sigmoid", {x})});
}

Names leaky_relu(Operation& op) {
  return op.add("LeakyRelu", {op.tensor("self")},
                {{"alpha", op.real("negative_slope")}});
}

/// x / 2 (1 + erf(x / sqrt(2))), or with tanh(sqrt(2 / pi) (x + 0.044715 x^3))
/// in place of erf.
Names gelu(Operation& op) {
  OnnxBuilder& model = op.model();
  const std::string x = op.tensor("self");
  std::string share;
  if (op.has("approximate") && op.text("approximate") == "tanh") {
    const std::string cube = model.add("Mul", {model.add("Mul", {x, x}), x});
    const std::string sum =
        model.add("Add", {x, multiplied(op, cube, 0.044715)});
    share = model.add("Tanh", {multiplied(op, sum, std::sqrt(M_2_PI))});
  } else {
    share = model.add("Erf", {multiplied(op, x, M_SQRT1_2)});
  }
  const std::string more =
      model.add("Add", {share, model.number(1, op.type())});
  return op.add("Mul", {multiplied(op, x, 0.5), more});
}

Names binary(Operation& op, const char* type) {
  std::string other = op.tensor("other", op.type());
  if (op.has("alpha") && op.real("alpha") != 1) {
    other = multiplied(op, other, op.real("alpha"));
  }
  if (op.has("rounding_mode")) op.refuse("it rounds what it divides");
  return op.add(type, {op.tensor("self", op.type()), other});
}

Names add(Operation& op) { return binary(op, "Add"); }
Names subtract(Operation& op) { return binary(op, "Sub"); }
Names multiply(Operation& op) { return binary(op, "Mul"); }
Names divide(Operation& op) { return binary(op, "Div"); }
Names larger(Operation& op) { return binary(op, "Max"); }
Names smaller(Operation& op) { return binary(op, "Min"); }

/// other - alpha self
Names subtract_from(Operation& op) {
  std::string x = op.tensor("self", op.type());
  if (op.real("alpha") != 1) x = multiplied(op, x, op.real("alpha"));
  return op.add("Sub", {op.tensor("other", op.type()), x});
}

Names power(Operation& op) {
  return op.add(
      "Pow", {op.tensor("self", op.type()), op.tensor("exponent", op.type())});
}

/// self + value a b
Names addcmul(Operation& op) {
  std::string product = op.model().add(
      "Mul",
      {op.tensor("tensor1", op.type()), op.tensor("tensor2", op.type())});
  if (op.real("value") != 1)
    product = multiplied(op, product, op.real("value"));
  return op.add("Add", {op.tensor("self", op.type()), product});
}

/// Along the dimensions of the argument `dim`, or over all.
Names reduced(Operation& op, const char* type, const std::string& x) {
  const bool keeps = op.has("keepdim") && op.truth("keepdim");
  return op.add(type, {x},
                {{"axes", op.axes("dim")}, {"keepdims", int64_t{keeps}}});
}

Names sum(Operation& op) {
  return reduced(op, "ReduceSum", op.tensor("self", op.type()));
}

Names mean(Operation& op) {
  const std::string x = op.tensor("self", op.type());
  const std::vector<int64_t> axes = op.axes("dim");
  const bool is_map = op.at("self").extents.size() == 4;
  if (!is_map || axes != std::vector<int64_t>{2, 3}) {
    return reduced(op, "ReduceMean", x);
  }
  // What every client knows best.
  const std::string pooled = op.model().add("GlobalAveragePool", {x});
  if (op.has("keepdim") && op.truth("keepdim")) return {pooled};
  return op.add("Squeeze", {pooled}, {{"axes", axes}});
}

/// Of max() the values; of two tensors the larger numbers.
Names largest(Operation& op) {
  if (op.has("other")) return larger(op);
  return reduced(op, "ReduceMax", op.tensor("self"));
}

/// The Euclidean length.
Names length(Operation& op) {
  const char* order = op.has("p") ? "p" : "ord";
  if (op.has(order) && op.real(order) != 2) {
    op.refuse("it is not the Euclidean norm");
  }
  const std::string x = op.tensor("self", op.type());
  const std::string squared = op.model().add("Mul", {x, x});
  return op.add("Sqrt", reduced(op, "ReduceSum", squared));
}

Names softmax(Operation& op) {
  if (op.axis("dim") + 1 != op.rank())
    op.refuse("its dimension is not the last");
  return op.add("Softmax", {op.tensor("self", op.type())},
                {{"axis", op.axis("dim")}});
}

}  // namespace

Converters number_converters() {
  return {{"relu", like("Relu")},
          {"sigmoid", like("Sigmoid")},
          {"tanh", like("Tanh")},
          {"exp", like("Exp")},
          {"log", like("Log")},
          {"sqrt", like("Sqrt")},
          {"abs", like("Abs")},
          {"neg", like("Neg")},
          {"reciprocal", like("Reciprocal")},
          {"square", square},
          {"rsqrt", rsqrt},
          {"clamp", clamp},
          {"clamp_min", clamp},
          {"clamp_max", clamp},
          {"hardtanh", hardtanh},
          {"relu6", relu6},
          {"hardsigmoid", hardsigmoid},
          {"hardswish", hardswish},
          {"silu", silu},
          {"leaky_relu", leaky_relu},
          {"gelu", gelu},
          {"add", add},
          {"sub", subtract},
          {"mul", multiply},
          {"div", divide},
          {"rsub", subtract_from},
          {"maximum", larger},
          {"minimum", smaller},
          {"pow", power},
          {"addcmul", addcmul},
          {"mean", mean},
          {"sum", sum},
          {"max", largest},
          {"amax", largest},
          {"norm", length},
          {"linalg_vector_norm", length},
          {"softmax", softmax}};
}

}  // namespace kith
