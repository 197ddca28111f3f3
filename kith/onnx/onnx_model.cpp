#include "kith/onnx/onnx_model.h"

#include <filesystem>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/io/proto_message.h"

// Names and numbers of fields are those of onnx.proto. The messages are few and
// only written: a writer of their bytes is shorter than what a library would
// ask of every build, and it writes weights that are nowhere else in memory.

namespace kith {
namespace {

namespace fs = std::filesystem;

/// onnx.proto from version 1.5 on, which brought operators 10.
constexpr int64_t kIrVersion = 5;

ProtoMessage attribute_message(const OnnxAttribute& attribute) {
  ProtoMessage message;
  message.add_bytes(1, attribute.name);
  if (const auto* number = std::get_if<double>(&attribute.value)) {
    message.add_float(2, static_cast<float>(*number));
    message.add_varint(20, 1);
  } else if (const auto* integer = std::get_if<int64_t>(&attribute.value)) {
    message.add_int64(3, *integer);
    message.add_varint(20, 2);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    message.add_bytes(4, *text);
    message.add_varint(20, 3);
  } else {
    for (const int64_t i : std::get<std::vector<int64_t>>(attribute.value)) {
      message.add_int64(8, i);
    }
    message.add_varint(20, 7);
  }
  return message;
}

ProtoMessage node_message(const OnnxNode& node) {
  ProtoMessage message;
  for (const std::string& input : node.inputs) message.add_bytes(1, input);
  for (const std::string& output : node.outputs) message.add_bytes(2, output);
  message.add_bytes(3, node.name);
  message.add_bytes(4, node.type);
  for (const OnnxAttribute& attribute : node.attributes) {
    message.add_message(5, attribute_message(attribute));
  }
  return message;
}

ProtoMessage port_message(const OnnxPort& port) {
  ProtoMessage shape;
  for (const auto& size : port.shape) {
    ProtoMessage dimension;
    if (const auto* number = std::get_if<int64_t>(&size)) {
      dimension.add_int64(1, *number);
    } else {
      dimension.add_bytes(2, std::get<std::string>(size));
    }
    shape.add_message(1, dimension);
  }
  ProtoMessage tensor;
  tensor.add_int64(1, onnx_type(port.type));
  tensor.add_message(2, shape);
  ProtoMessage type;
  type.add_message(1, tensor);
  ProtoMessage message;
  message.add_bytes(1, port.name);
  message.add_message(2, type);
  message.add_bytes(3, port.description);
  return message;
}

ProtoMessage pair_message(const std::string& key, const std::string& value) {
  ProtoMessage message;
  message.add_bytes(1, key);
  message.add_bytes(2, value);
  return message;
}

uint64_t bytes_in(const OnnxConstant& constant) {
  return static_cast<uint64_t>(constant.value.numel()) *
         constant.value.element_size();
}

void write_value(FileWriter& out, const OnnxConstant& constant) {
  const Tensor value = constant.value.contiguous();
  out.write(value.data_ptr(), bytes_in(constant));
}

/// What others want of an offset in a file, to look at it without a read.
constexpr uint64_t kAlignment = 4096;

uint64_t aligned(uint64_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

/// A constant up to its bytes, which follow, or lie elsewhere.
struct ConstantHead {
  ProtoMessage message;
  bool is_elsewhere = false;
  uint64_t offset = 0;

  uint64_t bytes_behind(const OnnxConstant& constant) const {
    return is_elsewhere ? 0 : bytes_in(constant);
  }
};

/// `data`: the name of the file where large constants are; empty: in this one.
std::vector<ConstantHead> constant_heads(const OnnxModel& model,
                                         const std::string& data) {
  constexpr uint64_t kSmall = 1024;  // such stay where the graph is
  std::vector<ConstantHead> heads;
  uint64_t end = 0;
  for (const OnnxConstant& constant : model.constants) {
    ConstantHead& head = heads.emplace_back();
    for (const int64_t size : constant.value.sizes()) {
      head.message.add_int64(1, size);
    }
    head.message.add_int64(2, onnx_type(constant.value.scalar_type()));
    head.message.add_bytes(8, constant.name);
    const uint64_t bytes = bytes_in(constant);
    head.is_elsewhere = !data.empty() && bytes > kSmall;
    if (!head.is_elsewhere) {
      head.message.add_length(9, bytes);
      continue;
    }
    head.offset = aligned(end);
    end = head.offset + bytes;
    const std::pair<const char*, std::string> places[] = {
        {"location", data},
        {"offset", std::to_string(head.offset)},
        {"length", std::to_string(bytes)}};
    for (const auto& [key, value] : places) {
      head.message.add_message(13, pair_message(key, value));
    }
    head.message.add_int64(14, 1);  // EXTERNAL
  }
  return heads;
}

/// The graph without its constants.
ProtoMessage graph_message(const OnnxModel& model) {
  ProtoMessage graph;
  for (const OnnxNode& node : model.nodes) {
    graph.add_message(1, node_message(node));
  }
  graph.add_bytes(2, model.name);
  graph.add_bytes(10, model.description);
  graph.add_message(11, port_message(model.input));
  graph.add_message(12, port_message(model.output));
  return graph;
}

/// The model without its graph.
ProtoMessage model_message(const OnnxModel& model) {
  ProtoMessage message;
  message.add_int64(1, kIrVersion);
  message.add_bytes(2, "kith");
  message.add_bytes(3, model.version);
  message.add_bytes(6, model.description);
  ProtoMessage operators;
  operators.add_bytes(1, "");
  operators.add_int64(2, kOnnxOpset);
  message.add_message(8, operators);
  for (const auto& [key, value] : model.metadata) {
    message.add_message(14, pair_message(key, value));
  }
  return message;
}

/// The key and length of a constant in the graph.
ProtoMessage constant_key(const OnnxConstant& constant,
                          const ConstantHead& head) {
  ProtoMessage key;
  key.add_length(5, head.message.bytes().size() + head.bytes_behind(constant));
  return key;
}

void write_data(const OnnxModel& model, const std::vector<ConstantHead>& heads,
                const std::string& path) {
  write_file_atomically(path, [&](FileWriter& out) {
    uint64_t end = 0;
    for (size_t i = 0; i < heads.size(); ++i) {
      if (!heads[i].is_elsewhere) continue;
      out.write(std::string(heads[i].offset - end, '\0'));
      write_value(out, model.constants[i]);
      end = heads[i].offset + bytes_in(model.constants[i]);
    }
  });
}

}  // namespace

int64_t onnx_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return 1;
    case at::kByte:
      return 2;
    case at::kInt:
      return 6;
    case at::kLong:
      return 7;
    case at::kBool:
      return 9;
    case at::kHalf:
      return 10;
    case at::kDouble:
      return 11;
    default:
      throw ConfigError(std::string("ONNX does not have numbers of type ") +
                        at::toString(type) + " here; take float32");
  }
}

std::string onnx_data_file(const std::string& path) { return path + ".data"; }

void write_onnx(const OnnxModel& model, const std::string& path,
                int64_t most_bytes) {
  const ProtoMessage graph = graph_message(model);
  const ProtoMessage outer = model_message(model);
  std::vector<ConstantHead> heads = constant_heads(model, "");
  const auto graph_bytes = [&] {
    uint64_t bytes = graph.bytes().size();
    for (size_t i = 0; i < heads.size(); ++i) {
      const OnnxConstant& constant = model.constants[i];
      bytes += constant_key(constant, heads[i]).bytes().size() +
               heads[i].message.bytes().size() +
               heads[i].bytes_behind(constant);
    }
    return bytes;
  };
  const std::string data = onnx_data_file(path);
  // A graph without its weights would say nothing of weights of another.
  remove_file(path);
  remove_file(data);
  if (graph_bytes() + outer.bytes().size() >
      static_cast<uint64_t>(most_bytes)) {
    heads = constant_heads(model, fs::path(data).filename().string());
    write_data(model, heads, data);
  }
  write_file_atomically(path, [&](FileWriter& out) {
    out.write(outer.bytes());
    ProtoMessage key;
    key.add_length(7, graph_bytes());
    out.write(key.bytes());
    out.write(graph.bytes());
    for (size_t i = 0; i < heads.size(); ++i) {
      const OnnxConstant& constant = model.constants[i];
      out.write(constant_key(constant, heads[i]).bytes());
      out.write(heads[i].message.bytes());
      if (!heads[i].is_elsewhere) write_value(out, constant);
    }
  });
}

}  // namespace kith
