#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <torch/nn/module.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/pimpl.h>

#include "kith/core/options.h"
#include "kith/core/tensor.h"
#include "kith/data/input.h"
#include "kith/models/backbone.h"

namespace kith {

/// A module from pictures to embeddings.
template <class Module>
concept MakesEmbeddings = std::derived_from<Module, torch::nn::Module> &&
    requires(Module& module, const Tensor& images) {
  { module.forward(images) } -> std::convertible_to<Tensor>;
};

/// A network of the user's own, [N, C, H, W] -> [N, D], in any of the forms in
/// which LibTorch has one:
///
///     OwnNetwork(std::make_shared<MyNet>())
///     OwnNetwork(torch::nn::Sequential(...))  // or another ModuleHolder
///     OwnNetwork(torch::nn::AnyModule(...))
///     OwnNetwork([body](const Tensor& x) { return ...; }, body)
///
/// All of them are a function and the module whose parameters it uses. What
/// takes a network takes this one, so that it asks nothing of a user's class
/// but forward(): the rest (device, modes, names of weights) LibTorch's modules
/// have.
class OwnNetwork {
 public:
  using Function = std::function<Tensor(const Tensor&)>;

  /// `module` has the parameters and buffers of `function`, which are trained,
  /// moved and stored under the names that they have there.
  OwnNetwork(Function function, std::shared_ptr<torch::nn::Module> module)
      : function_(std::move(function)), module_(std::move(module)) {}

  template <MakesEmbeddings Module>
  OwnNetwork(const std::shared_ptr<Module>& module)  // NOLINT: is a network
      : OwnNetwork([module](const Tensor& x) { return module->forward(x); },
                   module) {}

  template <MakesEmbeddings Module>
  OwnNetwork(const torch::nn::ModuleHolder<Module>& module)  // NOLINT: as well
      : OwnNetwork(module.ptr()) {}

  OwnNetwork(const torch::nn::AnyModule& module)  // NOLINT: as well
      : OwnNetwork(
            [any = module](const Tensor& x) mutable {
              return any.forward<Tensor>(x);
            },
            module.ptr()) {}

  Tensor forward(const Tensor& images) const { return function_(images); }
  const std::shared_ptr<torch::nn::Module>& module() const { return module_; }

 private:
  Function function_;
  std::shared_ptr<torch::nn::Module> module_;
};

/// What an EmbeddingNet does around a user's own network.
struct OwnNetworkOptions {
  bool l2 = true;
  bool keep_statistics = false;
  std::string precision = "float32";
  bool channels_last = false;

  void describe(OptionSet& set);
};

/// The network in place of a backbone, in evaluation mode: embeddings are the
/// class token. ConfigError if it has no parameters or does not make [N, D].
std::shared_ptr<Backbone> own_backbone(const OwnNetwork& network,
                                       const InputOptions& input);

}  // namespace kith
