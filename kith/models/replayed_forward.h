#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/models/embedding_net.h"
#include "kith/ops/replay.h"

namespace kith {

/// What a network in evaluation mode makes of pixels, without a graph. On a GPU
/// passes over few pictures are recorded and started as a whole (Replay), after
/// two of the same shape were not: the results are the same to the bit. A
/// network of the user's own is not, for what it does on the processor is not
/// known.
///
/// For as long as this lives the network's weights must stay as they are.
class ReplayedForward {
 public:
  /// `pooled`: what the head's linear layer is given, in place of embeddings.
  /// `always`: whatever the device and the size.
  explicit ReplayedForward(EmbeddingNet& net, bool pooled = false,
                           bool always = false);

  EmbeddingNet& net() const { return net_; }

  /// [N, H, W, C] bytes -> [N, dim]
  Tensor operator()(const Tensor& pixels);

  int64_t recordings() const { return recordings_; }

 private:
  /// Passes over pixels of one shape.
  struct Shape {
    int64_t seen = 0;
    Tensor pixels;                   ///< That the recording reads,
    Tensor made;                     ///< and what it makes of them.
    std::unique_ptr<Replay> replay;  ///< Null: none.
  };

  bool may_replay(const Tensor& pixels) const;
  Tensor pass(const Tensor& pixels) const;
  bool record(Shape& shape, const Tensor& pixels);

  EmbeddingNet& net_;
  bool pooled_;
  bool always_;
  bool can_;                 ///< Nothing has shown that it cannot be.
  Replay* first_ = nullptr;  ///< The others share its memory.
  int64_t recordings_ = 0;
  std::map<std::vector<int64_t>, Shape> shapes_;
};

}  // namespace kith
