#include <map>
#include <string>

#include <torch/torch.h>

#include "kith/core/config.h"
#include "kith/core/file.h"
#include "kith/io/tensor_io.h"
#include "kith/models/pretrained_input.h"
#include "kith/onnx/export_onnx.h"
#include "kith/run/checkpoint.h"
#include "tests/python/commands.h"

namespace kith {
namespace {

/// Numbers that layers start with all alike (scales, shifts, tokens) differ,
/// and batch norm has statistics that fit: otherwise pictures would be alike,
/// and layers without effect.
void make_lively(EmbeddingNet& net) {
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : net.parameters()) {
    const bool is_alike =
        parameter.numel() > 1 && parameter.max().equal(parameter.min());
    if (is_alike) parameter.add_(torch::randn_like(parameter), 0.2);
  }
  bool has_norm = false;
  for (const auto& module : net.modules(/*include_self=*/false)) {
    auto* norm = module->as<torch::nn::BatchNorm2dImpl>();
    if (norm == nullptr) continue;
    norm->options.momentum(1.0);
    has_norm = true;
  }
  if (!has_norm) return;
  net.train();
  const int64_t size = net.input().size;
  net.forward(torch::randn({8, net.input().channels(), size, size}));
}

void save_pictures(EmbeddingNet& net, const std::string& path, int64_t count,
                   int64_t height, int64_t width, bool is_uint8,
                   bool with_double) {
  const torch::NoGradGuard no_grad;
  const Tensor bytes = torch::randint(
      0, 256, {count, height, width, net.input().channels()}, torch::kByte);
  const Tensor images = net.prepare(bytes);
  save_npy(path + ".images.npy", (is_uint8 ? bytes : images).contiguous());
  save_npy(path + ".embeddings.npy", net.forward(images).contiguous());
  if (!with_double) return;
  net.to(torch::kDouble);
  save_npy(path + ".exact.npy",
           net.forward(images.to(torch::kDouble)).contiguous());
  net.to(torch::kFloat);
}

/// Operations that none of kith's networks has.
class OtherOperations final : public torch::nn::Module {
 public:
  OtherOperations()
      : conv_(register_module(
            "conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3)))),
        norm_(register_module("norm", torch::nn::BatchNorm2d(8))),
        linear_(register_module("linear", torch::nn::Linear(24, 6))) {}

  Tensor forward(const Tensor& images) {
    const Tensor x = norm_(conv_(images));
    const Tensor y = torch::leaky_relu(x, 0.1) - torch::relu6(x) +
                     torch::maximum(x, -x) * torch::minimum(x, x.exp()) / 3;
    const Tensor a = torch::adaptive_avg_pool2d(y, {1, 1}).flatten(1);
    const Tensor b = std::get<0>(y.flatten(2).max(2)) - 2 * y.sum({2, 3}) / 100;
    const Tensor c = torch::sqrt(1 + y.square().amax({2, 3}));
    const std::vector<Tensor> parts = torch::stack({a, b, c}, 1).split(2, 1);
    const Tensor joined = torch::cat({parts[0].reshape({images.size(0), 16}),
                                      parts[1].squeeze(1).clamp_max(3)},
                                     1);
    return linear_(joined + torch::zeros_like(joined) +
                   torch::full({images.size(0), 1}, 0.25)) +
           torch::log(1.5 - torch::sigmoid(joined.slice(1, 2, 8)));
  }

 private:
  torch::nn::Conv2d conv_;
  torch::nn::BatchNorm2d norm_;
  torch::nn::Linear linear_;
};

std::unique_ptr<EmbeddingNet> network_of(const ConfigNode& item) {
  ConfigNode model = *item.find("model");
  if (model.find("own") != nullptr) {
    InputOptions input;
    input.size = 20;
    input.colour = "rgb";
    return std::make_unique<EmbeddingNet>(input,
                                          std::make_shared<OtherOperations>());
  }
  if (model.find("input") == nullptr) {
    const int64_t size = pretrained_input(*model.find("backbone")).size;
    ConfigNode input = ConfigNode::map();
    input.set("size", ConfigNode::text(std::to_string(size > 0 ? size : 64)));
    model.set("input", input);
  }
  return std::make_unique<EmbeddingNet>(complete_model(model, "rgb"));
}

}  // namespace

void write_onnx_models(const Arguments& arguments) {
  const std::string& folder = arguments.at(0);
  const ConfigNode list =
      parse_config(read_file(arguments.at(1), 1 << 24), arguments.at(1));
  for (const ConfigNode& item : list.find("models")->items) {
    torch::manual_seed(1);
    const auto net = network_of(item);
    net->use_device(at::kCPU);
    make_lively(*net);
    net->eval();
    const ConfigNode* options = item.find("onnx");
    const auto onnx = read_options<OnnxOptions>(
        options == nullptr ? ConfigNode::map() : *options, "onnx");
    const std::string path = folder + "/" + item.find("name")->scalar;
    if (item.find("checkpoint_alone") == nullptr) {
      write_onnx(onnx_model(*net, onnx, {}), path + ".onnx");
    }
    if (item.find("checkpoint") != nullptr ||
        item.find("checkpoint_alone") != nullptr) {
      ConfigNode config = ConfigNode::map();
      config.set("model", net->section());
      const ConfigNode* evaluation = item.find("eval");
      if (evaluation != nullptr) config.set("eval", *evaluation);
      save_model(path + ".safetensors", *net, config);
    }
    const InputOptions& input = net->input();
    const bool is_uint8 = onnx.input == "uint8";
    for (const int64_t count : {1, 7}) {
      save_pictures(*net, path + "." + std::to_string(count), count, input.size,
                    input.size, is_uint8, item.find("exact") != nullptr);
    }
    if (item.find("other_size") != nullptr) {
      save_pictures(*net, path + ".other", 2, input.size + 23, input.size + 10,
                    is_uint8, false);
    }
  }
}

}  // namespace kith
