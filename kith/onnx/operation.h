#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include "kith/core/tensor.h"
#include "kith/onnx/onnx_builder.h"

namespace torch::jit {
struct Node;
struct Value;
}  // namespace torch::jit

namespace kith {

/// The size of a dimension in the two recordings of a network, which are of
/// different numbers (and, where it may be, sizes) of pictures.
struct Extent {
  int64_t first = 0;
  int64_t second = 0;

  bool is_fixed() const { return first == second; }
  bool operator==(const Extent&) const = default;
};
using Extents = std::vector<Extent>;

/// A value of a recorded network.
struct Traced {
  std::string name = {};   ///< In the model; empty: a constant, or a list.
  c10::IValue first = {};  ///< The constant, in both recordings.
  c10::IValue second = {};
  bool is_same = true;     ///< The constant is.
  std::string label = {};  ///< The name of the weight that it is made of.
  std::vector<Traced> items = {};  ///< Of a list.
  Extents extents = {};            ///< Of a tensor.
  at::ScalarType type = at::kFloat;

  bool is_constant() const {
    return name.empty() && (items.empty() || !first.isNone());
  }
};

/// A recorded operation of LibTorch, as its converter to ONNX sees it.
/// Arguments are known by their names in LibTorch's schema. Whatever cannot be
/// written for every number and size of pictures is a ConfigError.
class Operation {
 public:
  using Names = std::vector<std::string>;

  /// `result` is the first value that it makes; `pictures` how many there are.
  Operation(const torch::jit::Node& node, std::vector<Traced> arguments,
            const Traced& result, Extent pictures, OnnxBuilder& builder)
      : node_(node),
        arguments_(std::move(arguments)),
        result_(result),
        pictures_(pictures),
        builder_(builder) {}

  /// Whether there is such an argument, and it is given.
  bool has(const char* argument) const;
  const Traced& at(const char* argument) const;

  int64_t integer(const char* argument) const;
  double real(const char* argument) const;
  bool truth(const char* argument) const;
  std::string text(const char* argument) const;
  std::vector<int64_t> integers(const char* argument) const;

  /// A place from 0 of a dimension of `of`, which the argument may count from
  /// the end.
  int64_t axis(const char* argument, const char* of = "self") const;
  std::vector<int64_t> axes(const char* argument,
                            const char* of = "self") const;

  /// The name of a tensor, or of a number as a tensor, of a type; without one
  /// of its own.
  std::string tensor(const char* argument) const;
  std::string tensor(const char* argument, at::ScalarType type) const;
  /// The tensors of a list, in the type of the result.
  Names tensors(const char* argument) const;

  /// What comes out.
  const Extents& extents() const { return result_.extents; }
  at::ScalarType type() const { return result_.type; }
  int64_t rank() const { return static_cast<int64_t>(extents().size()); }

  /// The result in the type that it is to have: a converter's last step.
  Names add(const std::string& type, std::vector<std::string> inputs,
            OnnxAttributes attributes = {}) const {
    return {builder_.add(type, std::move(inputs), std::move(attributes))};
  }
  OnnxBuilder& model() const { return builder_; }

  /// A shape as an int64 tensor, whose free sizes are the batch.
  std::string shape(const Extents& extents) const;

  /// ConfigError: "the operation ... cannot be written as ONNX: `why`".
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const c10::IValue& constant(const char* argument) const;
  std::string name_of(const Traced& value, at::ScalarType type) const;

  const torch::jit::Node& node_;
  std::vector<Traced> arguments_;
  const Traced& result_;
  Extent pictures_;
  OnnxBuilder& builder_;
};

/// Adds an operation's nodes to the model, and names its results: the only one,
/// or those of a list.
using Converter = std::function<Operation::Names(Operation&)>;

/// By the names of operations, without "aten::".
using Converters = std::map<std::string, Converter>;

Converters layer_converters();
Converters number_converters();
Converters shape_converters();

}  // namespace kith
