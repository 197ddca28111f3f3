#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// What an operation of ONNX is told beside its inputs.
struct OnnxAttribute {
  using Value =
      std::variant<int64_t, double, std::string, std::vector<int64_t>>;

  std::string name;
  Value value;
};
using OnnxAttributes = std::vector<OnnxAttribute>;

/// One operation. Values are known by their names.
struct OnnxNode {
  std::string type;  ///< "Conv"
  std::string name;
  std::vector<std::string> inputs;  ///< An empty name: none is given.
  std::vector<std::string> outputs;
  OnnxAttributes attributes;
};

/// A value that every model of this file has: weights, and numbers that
/// operations are given.
struct OnnxConstant {
  std::string name;
  Tensor value;  ///< On the CPU.
};

/// What goes into a model or comes out of it.
struct OnnxPort {
  std::string name;
  at::ScalarType type = at::kFloat;
  /// A size, or the name of one that a caller chooses.
  std::vector<std::variant<int64_t, std::string>> shape;
  std::string description = {};
};

/// What a file of ONNX holds.
struct OnnxModel {
  std::string name;
  std::string description = {};
  std::string version = {};  ///< Of kith.
  OnnxPort input;
  OnnxPort output;
  std::vector<OnnxNode> nodes = {};  ///< Each behind those that it needs.
  std::vector<OnnxConstant> constants = {};
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

/// The number that a type of elements has in the format. ConfigError for one
/// that kith does not write.
int64_t onnx_type(at::ScalarType type);

/// The version of ONNX's operators that models are written for. TensorRT,
/// OpenVINO, onnxruntime and OpenCV read it, and OpenCV 4.6 knows how it limits
/// numbers, but not how the next one does.
constexpr int64_t kOnnxOpset = 10;

/// The most bytes of one file: a message of protocol buffers ends below 2 GiB.
constexpr int64_t kMostOnnxBytes = (int64_t{1} << 31) - (int64_t{1} << 20);

/// Where the weights of a model beyond the limit are.
std::string onnx_data_file(const std::string& path);

/// Writes the model, as a whole or not at all. Weights go from memory to the
/// file one by one. If it had more than `most_bytes`, they are in
/// onnx_data_file(path), which is written first.
void write_onnx(const OnnxModel& model, const std::string& path,
                int64_t most_bytes = kMostOnnxBytes);

}  // namespace kith
