#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kith/onnx/onnx_model.h"

namespace kith {

/// Adds operations and constants to a model, and names them.
class OnnxBuilder {
 public:
  /// `half_weights`: matrices and kernels of weights are stored in float16 and
  /// cast to float32 by the model.
  OnnxBuilder(OnnxModel& model, bool half_weights)
      : model_(model),
        half_weights_(half_weights),
        names_{model.input.name, model.output.name} {}

  /// The name of what the operation makes.
  std::string add(const std::string& type, std::vector<std::string> inputs,
                  OnnxAttributes attributes = {});

  /// A tensor, which is called `name` if nothing else is yet. The same one
  /// again is the same constant.
  std::string constant(const std::string& name, const Tensor& value);

  /// A number without dimensions.
  std::string number(double value, at::ScalarType type = at::kFloat);

  /// int64 [n], such as a shape.
  std::string integers(const std::vector<int64_t>& values);

  /// The number of pictures, int64 [1].
  std::string batch();

  /// Gives a value the name of the model's output.
  void name_output(const std::string& value);

  std::string cast(const std::string& value, at::ScalarType to);

  /// Weights that are stored in float32 although float16 was asked for, because
  /// they have numbers that it does not have.
  const std::vector<std::string>& too_large_for_half() const {
    return too_large_for_half_;
  }

 private:
  std::string unique(const std::string& name);
  std::string stored(const std::string& name, const Tensor& value);

  OnnxModel& model_;
  bool half_weights_;
  std::set<std::string> names_;
  std::map<std::string, int64_t> counts_;    ///< Of operations, by type.
  std::map<std::string, std::string> made_;  ///< Constants, by what they are.
  std::vector<Tensor> held_;  ///< So that no other has their addresses.
  std::string batch_;
  std::vector<std::string> too_large_for_half_;
};

}  // namespace kith
