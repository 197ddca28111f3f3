#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/data/batch.h"
#include "kith/data/input.h"
#include "kith/models/backbone.h"
#include "kith/models/head.h"
#include "kith/models/lora.h"
#include "kith/models/own_network.h"

namespace kith {

/// Options of a `model:` section beside `input`, `backbone` and `head`; those
/// of `lora` are a section of their own.
struct ModelOptions {
  std::string weights = {};           ///< Loaded by the trainer, not here.
  std::string bn = "train";           ///< BackboneInput::batch_norm
  std::string precision = "float32";  ///< On a GPU; a CPU takes float32.
  LoraOptions lora = {};

  void describe(OptionSet& set);
};

/// The pixels of a part of a batch as a tensor on the CPU, [N, H, W, C] bytes:
/// a view, which keeps the memory alive.
Tensor pixels_of(const BatchPart& part);

/// A network from pictures to embeddings: a backbone and a head, or one of the
/// user's own with no more around it than what prepares its pictures and makes
/// its embeddings unit vectors.
///
///     EmbeddingNet net(section);                       // a `model:` section
///     auto net = EmbeddingNet::make<Convnet>(
///         {.width = 16}, {.size = 32, .colour = "grey"}, {.dim = 32});
///     EmbeddingNet net({.size = 32, .colour = "grey"},
///                      std::make_shared<MyNet>());
///
/// Weights come from LibTorch's generator: seed it first.
class EmbeddingNet final : public torch::nn::Module {
 public:
  /// ConfigError if the backbone does not take pictures of the sizes of
  /// `input`, or if the section is that of a user's own network.
  explicit EmbeddingNet(const ConfigNode& section);

  /// The backbone that a `model:` section asks for.
  static std::unique_ptr<Backbone> make_backbone(const ConfigNode& section);

  /// That backbone, and what else the section asks for.
  EmbeddingNet(const ConfigNode& section, std::shared_ptr<Backbone> backbone);

  /// A backbone that is there, such as one of the user's own class, and kith's
  /// head. Its BackboneInput must be that of `input` and `options`.
  EmbeddingNet(InputOptions input, std::shared_ptr<Backbone> backbone,
               HeadOptions head = {}, ModelOptions options = {});

  /// A network of the user's own. It is tried on a picture of zeros:
  /// ConfigError if it has no parameters or does not make [N, D] of [N, C, H,
  /// W].
  EmbeddingNet(InputOptions input, const OwnNetwork& network,
               OwnNetworkOptions options = {});

  /// A backbone of kith's, made for `input`, and a head.
  template <class Type>
  static std::shared_ptr<EmbeddingNet> make(typename Type::Options backbone,
                                            InputOptions input,
                                            HeadOptions head = {},
                                            ModelOptions options = {});

  /// What a `model:` section says of the network, with every option. That of a
  /// user's own network has `own: true`, and no network can be made of it.
  const ConfigNode& section() const { return section_; }

  /// Whether the network, or its backbone, is the user's own.
  bool is_own() const { return section_.find("own") != nullptr; }

  const InputOptions& input() const { return input_; }
  const ModelOptions& options() const { return options_; }
  int64_t dim() const { return dim_; }
  Backbone& backbone() { return *backbone_; }
  bool has_head() const { return head_ != nullptr; }
  Head& head() { return *head_; }  ///< Not of a network of the user's own.

  /// Whether embeddings are made unit vectors.
  bool is_unit() const { return l2_; }

  c10::Device device() const;

  /// Moves the network. The weights of convolutions are laid out with the
  /// channels last, as the fast convolutions want them; those of a user's own
  /// network only if it says so.
  void use_device(c10::Device device);

  /// Sets how LibTorch computes float32 products and convolutions on a GPU, for
  /// the whole process: forward() alone cannot, for the backward pass comes
  /// later. Training and embedding call it before they start. The losses set
  /// the precision of their products themselves.
  void apply_precision() const;

  /// Keeps the backbone's parameters as they are (they want no gradient), or
  /// lets those train that freeze() does not keep. With bn "all" those of batch
  /// norm never train. Nothing is done to a network of the user's own.
  void freeze_backbone(bool frozen);

  /// A network without adapters (model.lora) that computes the same: they are
  /// added to the weights. Of parts that a `model:` section describes.
  std::unique_ptr<EmbeddingNet> merged() const;

  /// Keeps parameters for good whose names in weights() fit one of the patterns
  /// (fits_pattern()), instead of those of an earlier call. Batch norm whose
  /// scale and shift are kept keeps its statistics too. Of a backbone with
  /// adapters all else is kept, from the beginning. ConfigError for a
  /// pattern that fits none, or if nothing is left to train.
  void freeze(const std::vector<std::string>& patterns);

  /// Those of weights() that freeze() leaves to an optimiser.
  NamedTensors trained() const;

  /// Batch norm that keeps its statistics (bn "stats" and "all", or frozen)
  /// stays in evaluation mode.
  void train(bool on = true) override;

  /// Pictures as the network takes them, on the device where they are:
  /// [N, H, W, C] bytes -> [N, C, H, W] of the network's type,
  /// (x / 255 - mean) / std. The memory stays in the order N, H, W, C, but for
  /// a network of the user's own that does not want it so.
  Tensor prepare(const Tensor& pixels) const;

  /// [N, C, H, W] -> [N, dim]. With precision "bf16" the backbone computes in
  /// bfloat16 on a GPU; the head always computes in float32.
  Tensor forward(const Tensor& images, const Mixing& mixing = {});

  /// [N, C, H, W] -> [N, pooled_dim()], what the head's linear layer is given;
  /// of a network without head what it gives.
  Tensor pooled(const Tensor& images);
  int64_t pooled_dim() const {
    return head_ ? head_->features() : backbone_->features();
  }

  /// [N, C, H, W] -> [N, F], what the head's pooling makes of it.
  Tensor pool(const Tensor& images);

  /// Parameters by name, as checkpoints store them: a user's own network has
  /// the names that it has without kith.
  NamedTensors weights() const;

  /// The same with buffers.
  NamedTensors state() const;

 private:
  void set_input();
  void add_backbone(std::shared_ptr<Backbone> backbone,
                    const HeadOptions& head);
  const torch::nn::Module& named() const;
  void keep_frozen();
  Features features_of(const Tensor& images, const Mixing& mixing);

  ModelOptions options_;
  InputOptions input_;
  Tensor scale_;  ///< [C, 1, 1] double: 1 / (255 std)
  Tensor shift_;  ///< [C, 1, 1] double: -mean / std
  int64_t dim_ = 0;
  bool l2_ = true;
  bool channels_last_ = true;
  ConfigNode section_;
  std::shared_ptr<Backbone> backbone_;
  Lora lora_;
  std::shared_ptr<Head> head_;              ///< Null: of the user's own.
  std::shared_ptr<torch::nn::Module> own_;  ///< Null unless the whole is.
  std::set<std::string> frozen_;            ///< Names in weights().
  std::vector<std::shared_ptr<torch::nn::Module>> frozen_norms_;
};

/// ConfigError if a `model:` section is that of a user's own network; `where`
/// is the file that has it.
void refuse_own_network(const ConfigNode& section, const std::string& where);

/// The `model:` section with every default present. Throws ConfigError.
/// `colour` is that of the data (grey or rgb), for an input that does not say
/// its own; with auto the colour, and mean and std with it, stay open until the
/// data is there, and no network can be made of it.
ConfigNode complete_model(const ConfigNode& section,
                          const std::string& colour = "grey");

/// The complete `model:` section of a network that is described in C++.
ConfigNode model_section(const InputOptions& input, ConfigNode backbone,
                         const HeadOptions& head, const ModelOptions& options);

template <class Type>
std::shared_ptr<EmbeddingNet> EmbeddingNet::make(
    typename Type::Options backbone, InputOptions input, HeadOptions head,
    ModelOptions options) {
  ConfigNode section = write_options(std::move(backbone));
  section.set("name",
              ConfigNode::text(backbone_registry().name_of(typeid(Type))));
  return std::make_shared<EmbeddingNet>(
      model_section(input, std::move(section), head, options));
}

}  // namespace kith
