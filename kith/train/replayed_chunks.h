#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "kith/core/tensor.h"

namespace kith {

/// Both passes of a network over the chunks of a batch, each recorded and
/// started as a whole (Replay). Embeddings, gradients and statistics are the
/// same to the bit as without.
///
/// Two batches of a kind are computed the usual way, in which libraries settle
/// how they compute these shapes; the third is recorded, all chunks of it. A
/// recording is good for batches of its kind: chunks of the same shapes,
/// weights at the same addresses, the same of them that want gradients, the
/// same layers in training mode. It stays while single batches of other kinds
/// come between, and makes way if there are three in a row.
///
/// What was made of weights before, such as batch norm folded into convolutions
/// (FoldedConv), is made in the recording of the first chunk, for weights
/// change with every step; the other chunks share it.
class ReplayedChunks {
 public:
  using Network = std::function<Tensor(const Tensor&)>;

  /// `module`, which must outlive this, has what `network` uses.
  ReplayedChunks(const torch::nn::Module& module, Network network,
                 c10::Device device);
  ~ReplayedChunks();
  ReplayedChunks(const ReplayedChunks&) = delete;
  ReplayedChunks& operator=(const ReplayedChunks&) = delete;

  /// Begins a batch of chunks such as these, which need not be on the device
  /// yet. False if the caller is to compute it the usual way. `has_room` tells
  /// whether memory suffices for a recording.
  bool begin(const std::vector<Tensor>& chunks,
             const std::function<bool()>& has_room);

  /// The embeddings [n, D] of the next chunk, whose items are on the device,
  /// without a graph: the next batch writes others there. Random numbers are
  /// those of `seed`. Undefined if it cannot: then the caller computes both
  /// passes of the whole batch the usual way, but for the embeddings that it
  /// has.
  Tensor forward(const Tensor& items, uint64_t seed);

  /// Given dL/dembeddings of each chunk of the batch: adds the gradients of the
  /// parameters, in tensors that the next call writes to. False if it cannot,
  /// and has done nothing: then the caller computes the batch again, the usual
  /// way.
  bool backward(const std::vector<Tensor>& gradients);

  /// Records no more, and gives the memory back. Whether there was any.
  bool stop();

 private:
  struct Chunk;
  struct Recording;
  using Kind = std::vector<uint64_t>;

  Kind kind_of(const std::vector<Tensor>& chunks) const;
  bool record_forward(Chunk& chunk, const Tensor& items, uint64_t seed);
  bool record_backward(size_t place);
  void save_gradients();
  void pass_forward(Chunk& chunk);
  void pass_backward(size_t place);
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
  size_t next_ = 0;                       ///< Chunk of the batch.
};

}  // namespace kith
