#pragma once

#include <unordered_map>

#include "kith/core/tensor.h"

namespace kith {

/// Weights in the type in which products are computed, each cast once for all
/// products until clear(). Weights must stay as they are meanwhile; that is for
/// the owner to see to, as LibTorch's optimisers do not count all changes in a
/// tensor's version.
class RoundedWeights {
 public:
  /// While one lives, rounded() of this thread takes from these weights.
  class Use {
   public:
    explicit Use(RoundedWeights& weights);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    RoundedWeights* before_;
  };

  void clear() { copies_.clear(); }

  int64_t bytes() const;  ///< Of what is kept.

 private:
  friend Tensor rounded(const Tensor& weight, at::ScalarType type);
  struct Copy {
    Tensor weight;  ///< It lives on, so that no other has its address.
    const void* data = nullptr;
    int64_t version = 0;
    Tensor rounded;
  };
  std::unordered_map<const void*, Copy> copies_;
};

/// The values of a weight in `type`, without a graph. A weight that is computed
/// itself, such as those of adapters, is cast every time.
Tensor rounded(const Tensor& weight, at::ScalarType type);

}  // namespace kith
