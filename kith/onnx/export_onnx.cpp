#include "kith/onnx/export_onnx.h"

#include <algorithm>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/onnx/make_graph.h"
#include "kith/onnx/recording.h"
#include "kith/ops/no_memory.h"

namespace kith {

void OnnxOptions::describe(OptionSet& set) {
  set.add("input", input,
          "What pictures are: float32 [N, C, H, W], prepared; or uint8 "
          "[N, H, W, C], which the model prepares but for their size.")
      .choices({"float32", "uint8"});
  set.add("weights", weights,
          "How weights are stored; the model computes in float32 either way.")
      .choices({"float32", "float16"});
  set.add("size", size,
          "Sizes of pictures that the model takes: any that the network does, "
          "or fixed: that of the network's input.")
      .choices({"any", "fixed"});
}

namespace {

/// How many pictures the two recordings have.
constexpr Extent kPictures = {3, 5};

/// Puts the network as it is to be recorded, and back.
class ForRecording {
 public:
  explicit ForRecording(EmbeddingNet& net)
      : net_(net), was_training_(net.is_training()) {
    net_.eval();
    for (const Tensor& parameter : net_.parameters()) {
      if (!parameter.requires_grad()) continue;
      learnt_.push_back(parameter);
      learnt_.back().requires_grad_(false);
    }
  }
  ~ForRecording() {
    for (Tensor& parameter : learnt_) parameter.requires_grad_(true);
    net_.train(was_training_);
  }
  ForRecording(const ForRecording&) = delete;
  ForRecording& operator=(const ForRecording&) = delete;

 private:
  EmbeddingNet& net_;
  bool was_training_;
  std::vector<Tensor> learnt_;
};

/// Pictures of noise.
class Pictures {
 public:
  Pictures(const InputOptions& input, bool is_uint8)
      : channels_(input.channels()),
        is_uint8_(is_uint8),
        generator_(at::detail::createCPUGenerator(1)) {}

  Tensor of(int64_t count, Size size) {
    if (is_uint8_) {
      return torch::randint(0, 256, {count, size.height, size.width, channels_},
                            generator_, torch::kByte);
    }
    return torch::randn({count, channels_, size.height, size.width},
                        generator_);
  }

 private:
  int64_t channels_;
  bool is_uint8_;
  at::Generator generator_;
};

/// A network and what its recordings have in common.
class OnnxMaker {
 public:
  OnnxMaker(EmbeddingNet& net, const OnnxOptions& options)
      : net_(net),
        options_(options),
        pictures_(net.input(), options.input == "uint8") {
    for (const auto& [name, tensor] : net.state()) {
      weights_[tensor.data_ptr()] = name;
    }
    function_ = [this](const Tensor& x) {
      const bool is_uint8 = options_.input == "uint8";
      return net_.forward(is_uint8 ? net_.prepare(x) : x);
    };
  }

  /// Adds the network to a model, for pictures of any size if `others` are
  /// given, and it does with those what it does with `size`.
  OnnxModel make(const OnnxModel& empty, Size size,
                 const std::vector<Size>& others) {
    const auto graph = record(function_, pictures_.of(kPictures.first, size));
    check_recording(graph, pictures_.of(kPictures.first, size));
    OnnxModel model;
    std::vector<std::string> too_large;
    for (const Size& other : others.empty() ? std::vector{size} : others) {
      model = empty;
      OnnxBuilder builder(model, options_.weights == "float16");
      const auto second =
          record(function_, pictures_.of(kPictures.second, other));
      make_graph(*graph, *second, kPictures, weights_, model, builder);
      too_large = builder.too_large_for_half();
    }
    for (const std::string& name : too_large) {
      log_warning(name +
                  " stays in float32: it has numbers beyond those of float16");
    }
    set_input(model, size, !others.empty());
    return model;
  }

 private:
  void check_recording(const std::shared_ptr<torch::jit::Graph>& graph,
                       const Tensor& pictures) const {
    const torch::NoGradGuard no_grad;
    const Tensor made = function_(pictures);
    if (!made.isfinite().all().item<bool>()) {
      throw RunError(
          "the network makes of pictures of noise what is not finite: its "
          "weights are not those of a trained network");
    }
    if (is_faithful(graph, pictures, made)) return;
    throw ConfigError(
        "the network cannot be written as ONNX: it does something that is no "
        "operation of LibTorch, or changes a part of a tensor in place");
  }

  void set_input(OnnxModel& model, Size size, bool any_size) const {
    using Shape = decltype(OnnxPort::shape);
    const Shape sides = any_size
                            ? Shape{"height", "width"}
                            : Shape{int64_t{size.height}, int64_t{size.width}};
    const int64_t channels = net_.input().channels();
    model.input.shape = options_.input == "uint8"
                            ? Shape{"batch", sides[0], sides[1], channels}
                            : Shape{"batch", channels, sides[0], sides[1]};
  }

  EmbeddingNet& net_;
  const OnnxOptions& options_;
  Pictures pictures_;
  RecordedFunction function_;
  WeightNames weights_;
};

/// The largest picture that the network's input makes.
Size largest_picture(const InputOptions& input) {
  const int side = static_cast<int>(input.largest_side());
  return input.any_shape() ? size_of_any_shape({side, side}, input)
                           : Size{side, side};
}

/// Layers that halve a map do so with an odd or an even one, and what comes of
/// it may differ: between them these sizes have both at each of six layers.
std::vector<Size> other_sizes(Size size) {
  const std::pair<int, int> more[] = {{1, 2}, {4, 8}, {16, 32}, {33, 67}};
  std::vector<Size> all;
  for (const auto& [rows, columns] : more) {
    all.push_back({size.width + columns, size.height + rows});
  }
  return all;
}

std::string input_description(const EmbeddingNet& net,
                              const OnnxOptions& options) {
  const std::string order = net.input().colour;
  return options.input == "uint8"
             ? "Pictures of the network's size, bytes in the order " +
                   std::string(order == "bgr" ? "rgb" : order)
             : "Pictures in " + order +
                   ", (x / 255 - mean) / std; see the metadata 'preprocessing'";
}

/// Why the size is fixed although any was wanted; empty if it need not be.
std::string fixed_because(EmbeddingNet& net) {
  if (!net.backbone().fixed_size().empty()) return net.backbone().fixed_size();
  return net.backbone().multiple() > 1
             ? "a vision transformer, whose positions are computed for one size"
             : "";
}

}  // namespace

OnnxModel onnx_model(EmbeddingNet& net, const OnnxOptions& options,
                     const OnnxNotes& notes) {
  static_cast<void>(checked(options, "onnx"));
  for (const Tensor& parameter : net.parameters()) {
    if (parameter.is_cpu() && parameter.scalar_type() == at::kFloat) continue;
    throw ConfigError(
        "a network is written as ONNX from the CPU and in float32; this one "
        "is " +
        parameter.toString());
  }
  const ForRecording ready(net);
  OnnxModel empty;
  empty.name = "kith";
  empty.description = notes.description;
  empty.version = notes.version;
  empty.metadata = notes.metadata;
  empty.input = {.name = "images",
                 .type = options.input == "uint8" ? at::kByte : at::kFloat,
                 .shape = {},
                 .description = input_description(net, options)};
  empty.output = {.name = "embeddings",
                  .type = at::kFloat,
                  .shape = {"batch", net.dim()},
                  .description = net.is_unit()
                                     ? "Unit vectors; compare by inner product"
                                     : "Vectors of any length"};
  OnnxMaker maker(net, options);
  const Size size = largest_picture(net.input());
  if (options.size == "any") {
    std::string reason = fixed_because(net);
    constexpr int kLargest = 224;  // any size will do
    const Size small = {std::min(size.width, kLargest),
                        std::min(size.height, kLargest)};
    try {
      if (reason.empty()) return maker.make(empty, small, other_sizes(small));
    } catch (const ConfigError& error) {
      reason = error.what();
    } catch (const c10::Error& error) {
      if (is_no_memory(error)) throw;
      reason = error.what_without_backtrace();
    }
    log_info("the model takes pictures of " + std::to_string(size.width) +
             " x " + std::to_string(size.height) + " pixels alone: " + reason);
  }
  return maker.make(empty, size, {});
}

}  // namespace kith
