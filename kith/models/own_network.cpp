#include "kith/models/own_network.h"

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {
namespace {

/// A user's own network in place of a backbone: the embedding is its token.
class OwnBackbone final : public Backbone {
 public:
  OwnBackbone(const OwnNetwork& network, const InputOptions& input)
      : network_(network) {
    if (!network_.module() || network_.module()->parameters().empty()) {
      throw ConfigError(
          "the network has no parameters to train: register its layers in it, "
          "or give a function the module that has them");
    }
    register_module("own", network_.module());
    features_ = output_size(input);
  }

  int64_t features() const override { return features_; }
  bool has_token() const override { return true; }

 protected:
  Features run(const Tensor& images, const Mixing&) override {
    const Tensor output = network_.forward(images);
    if (output.dim() != 2 || output.size(0) != images.size(0) ||
        !output.is_floating_point() ||
        (features_ > 0 && output.size(1) != features_)) {
      throw ConfigError("the network must make one row per picture" +
                        (features_ > 0
                             ? " of " + std::to_string(features_) + " numbers"
                             : std::string(", [N, D]")) +
                        ": it made " + c10::str(output.sizes()) + " (" +
                        output.toString() + ") of " + c10::str(images.sizes()));
    }
    return {{}, output};
  }

 private:
  /// Numbers of an embedding, from a picture of zeros.
  int64_t output_size(const InputOptions& input) {
    const torch::NoGradGuard no_grad;
    const int side =
        static_cast<int>(input.any_shape() ? input.long_side : input.size);
    const Size size = input.any_shape() ? size_of_any_shape({side, side}, input)
                                        : Size{side, side};
    network_.module()->eval();
    const Tensor like = network_.module()->parameters().front();
    const Tensor output =
        run(torch::zeros({2, input.channels(), size.height, size.width},
                         like.options().requires_grad(false)),
            {})
            .token;
    if (output.size(1) == 0) {
      throw ConfigError("the network makes embeddings without numbers, [N, 0]");
    }
    return output.size(1);
  }

  OwnNetwork network_;
  int64_t features_ = 0;  ///< 0: not known yet.
};

}  // namespace

void OwnNetworkOptions::describe(OptionSet& set) {
  set.add("l2", l2, "Embeddings are made unit vectors.");
  set.add("keep_statistics", keep_statistics,
          "Batch norm keeps its statistics in training too.");
  set.add("precision", precision,
          "How a GPU computes the network: float32, tf32, or bfloat16 (bf16).")
      .choices({"float32", "tf32", "bf16"});
  set.add("channels_last", channels_last,
          "Pictures and the weights of convolutions lie in memory with the "
          "channels last, which is quicker, and which view() of what comes "
          "out may refuse.");
}

std::shared_ptr<Backbone> own_backbone(const OwnNetwork& network,
                                       const InputOptions& input) {
  return std::make_shared<OwnBackbone>(network, input);
}

}  // namespace kith
