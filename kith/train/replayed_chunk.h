#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "kith/core/tensor.h"

namespace kith {

/// Both passes of a network over a batch that is one chunk, each recorded and
/// started as a whole (Replay). Embeddings, gradients and statistics are the
/// same to the bit as without.
///
/// Two batches of a kind are computed the usual way, in which libraries settle
/// how they compute that shape; the third is recorded. A recording is good for
/// batches of its kind: the same shape, weights at the same addresses, the same
/// of them that want gradients, the same layers in training mode. It stays
/// while single batches of other kinds come between, and makes way if there are
/// three in a row.
///
/// What was made of weights before, such as batch norm folded into convolutions
/// (FoldedConv), is made in the recording, for weights change with every step.
class ReplayedChunk {
 public:
  using Network = std::function<Tensor(const Tensor&)>;

  /// `module`, which must outlive this, has what `network` uses.
  ReplayedChunk(const torch::nn::Module& module, Network network,
                c10::Device device);
  ~ReplayedChunk();
  ReplayedChunk(const ReplayedChunk&) = delete;
  ReplayedChunk& operator=(const ReplayedChunk&) = delete;

  /// The embeddings [n, D] of items on the device, without a graph: the next
  /// call writes others there. Random numbers are those of `seed`. Undefined if
  /// the caller is to compute them the usual way. `has_room` tells whether
  /// memory suffices for a recording.
  Tensor forward(const Tensor& items, uint64_t seed,
                 const std::function<bool()>& has_room);

  /// Given dL/dembeddings of what forward() made last: adds the gradients of
  /// the parameters, in tensors that the next call writes to if no others were
  /// there. False if it cannot, and has done nothing: then the caller computes
  /// the chunk again, the usual way.
  bool backward(const Tensor& gradient);

  /// Records no more, and gives the memory back. Whether there was any.
  bool stop();

 private:
  struct Recording;
  using Kind = std::vector<uint64_t>;

  Kind kind_of(const Tensor& items) const;
  Tensor record_forward(const Tensor& items, Kind kind, uint64_t seed);
  bool record_backward();
  std::vector<Tensor> gradients_of(const Recording& recording) const;
  void give_up(const std::string& reason);

  const torch::nn::Module& module_;
  Network network_;
  c10::Device device_;
  std::vector<const torch::nn::Module*> modules_;  ///< All.
  std::vector<Tensor> parameters_;
  std::vector<Tensor> buffers_;
  Kind last_kind_;    ///< Of the last batch that was not replayed,
  int64_t seen_ = 0;  ///< and how many of that kind came one after the other.
  bool is_on_ = true;
  std::unique_ptr<Recording> recording_;  ///< Null: none.
};

}  // namespace kith
