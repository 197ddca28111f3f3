#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/distributed/communicator.h"
#include "kith/models/embedding_net.h"
#include "kith/ops/rounded_weights.h"
#include "kith/train/replayed_chunks.h"
#include "kith/train/statistics_guard.h"

namespace kith {

class Upload;

/// Which chunks of a batch keep their graph from the first pass.
enum class KeepGraphs {
  kNone,  ///< None: every chunk is computed twice.
  kAuto,  ///< As many as fit into the device's memory.
  kAll,   ///< All: every chunk is computed once.
};

/// "none", "auto" or "all".
KeepGraphs parse_keep_graphs(const std::string& text);

/// Back-propagation through a batch that is larger than memory (Patel et al.,
/// 2022, section 3): embed() computes the embeddings of all M pictures in
/// chunks, the caller takes the loss and its gradient on all of them at once,
/// and backward() takes that gradient through the chunks one after another,
/// computing again those whose graph was not kept. The gradients of the
/// parameters are the same as those of one pass over the whole batch.
///
/// With mixup, the pictures of a chunk are mixed among themselves, so the
/// partners depend on `sub_batch`, and the gradients are those of one pass with
/// the same partners.
///
/// A chunk holds pictures of one size. Those of a batch with several sizes are
/// of the first size, then the second, and so on; embeddings and gradients stay
/// in the order of the batch.
///
/// Of a network it asks two things, what it makes of a chunk and where batch
/// norm gathers statistics: so it takes an EmbeddingNet, or a user's own
/// network with whatever that takes in place of pictures.
///
/// A chunk's random numbers (dropout, partners) depend on the seed and its
/// place alone, so the second pass draws those of the first. Gradients are
/// added up in the order of the chunks whichever were kept: on the CPU the
/// result is the same to the bit.
class Multistage {
 public:
  /// Pictures of one size.
  struct Part {
    /// [n, H, W, C] bytes in host memory; for a network of the user's own what
    /// that takes, [n, ...].
    Tensor pixels;
    std::vector<int64_t> positions;  ///< [n] In the batch.
  };

  /// A chunk has the pixels of `sub_batch` of the network's largest pictures;
  /// 0: all pictures of a size are one. `net` must outlive it.
  Multistage(EmbeddingNet& net, c10::Device device, int64_t sub_batch,
             KeepGraphs keep);

  /// A chunk has `sub_batch` items, which the network is given as they are.
  Multistage(const OwnNetwork& network, c10::Device device, int64_t sub_batch,
             KeepGraphs keep = KeepGraphs::kAuto);

  /// From now on every rank has the same number of chunks in a batch, and they
  /// run in step, forward and backward: for a network whose batch norm shares
  /// its statistics. Pictures have one size then. `ranks` must outlive it.
  void keep_step(Communicator& ranks) { in_step_ = &ranks; }

  /// From now on both passes over a batch whose chunks have at most `most`
  /// numbers each, and which is not mixed, are recorded and started as a whole,
  /// where that can be (ReplayedChunks); of one chunk only unless `several`.
  /// Not for a network that does on the processor what depends on more than
  /// shapes: that would be recorded as it was once.
  void replay_chunks(int64_t most, bool several = true);

  /// Ends that and gives the memory of recordings back. Whether there was any.
  bool stop_replaying() { return replay_ && replay_->stop(); }

  /// M pictures in all -> [M, dim], a leaf that wants a gradient. The pictures
  /// must stay until backward() is done. With mixup there is one part. `first`:
  /// if these are a part of a larger batch, its chunks before them.
  Tensor embed(std::vector<Part> parts, uint64_t seed,
               const std::optional<Mixup>& mixup = {}, int64_t first = 0);

  /// The same of pictures of one size, [M, H, W, C].
  Tensor embed(const Tensor& pixels, uint64_t seed,
               const std::optional<Mixup>& mixup = {});

  /// [M] int64 on the device: the place in the batch of the picture that each
  /// was mixed with, so that labels.index_select(0, partners()) are the other
  /// labels. Of the last batch; undefined if that was not mixed.
  const Tensor& partners() const { return partners_; }

  /// Adds the parameters' gradients, given dL/dembeddings [M, dim]. Before the
  /// pass through the last chunk `before_last` is called, if it is there.
  void backward(const Tensor& gradient,
                const std::function<void()>& before_last = {});

  /// Forgets a batch between embed() and backward().
  void drop();

  int64_t chunks() const;                        ///< Of the last batch.
  int64_t graphs_kept() const { return kept_; }  ///< Of the last batch.
  int64_t sub_batch() const { return sub_batch_; }
  void set_sub_batch(int64_t sub_batch) { sub_batch_ = sub_batch; }

  /// Makes the largest chunks of the last batch half as large. False if they
  /// cannot be smaller.
  bool halve_sub_batch();

 private:
  /// Pictures of a part: those from `begin` on.
  struct Chunk {
    size_t part = 0;
    int64_t begin = 0;
    int64_t count = 0;
    int64_t numbers = 0;  ///< Of all of them together.
  };

  void cut_into_chunks();
  int64_t chunks_in_step(int64_t count, int64_t most) const;
  bool all_keep(bool keep) const;
  Tensor pixels_of(const Chunk& chunk) const;
  Upload start_upload(size_t chunk) const;
  Tensor draw_all_partners(const Mixup& mixup) const;
  Mixing mixing_of(const Chunk& chunk) const;
  uint64_t seed_of(size_t chunk) const;
  Tensor forward(size_t chunk, const Tensor& pixels);
  bool begin_replay();
  std::string why_not_replayed() const;
  int64_t largest_chunk() const;
  bool fits(int64_t numbers) const;
  int64_t memory_in_use() const;

  /// What the network makes of a chunk, which is on the device.
  std::function<Tensor(const Tensor&, const Mixing&)> network_;
  const torch::nn::Module* module_;
  int64_t most_;  ///< Numbers of its largest item; 0: of the batch's largest.
  c10::Device device_;
  int64_t sub_batch_;
  KeepGraphs keep_;
  Communicator* in_step_ = nullptr;  ///< Null: chunks run on their own.

  std::vector<Part> parts_;  ///< The batch; empty between batches.
  std::vector<Chunk> chunks_;
  int64_t item_ = 0;  ///< Numbers of the item that `sub_batch` counts.
  Tensor order_;  ///< [M] The positions, chunk by chunk; undefined: 0, 1, ...
  uint64_t seed_ = 0;
  int64_t first_ = 0;  ///< The number of the first chunk.
  std::optional<Mixup> mixup_;
  Tensor partners_;
  RoundedWeights rounded_;           ///< Of all chunks of the batch.
  int64_t kept_ = 0;                 ///< The first chunks keep their graphs.
  std::vector<Tensor> graphs_;       ///< Their outputs.
  double graph_bytes_a_number_ = 0;  ///< The most that was seen.
  std::unique_ptr<ReplayedChunks> replay_;  ///< Null: none is replayed.
  int64_t most_replayed_ = 0;               ///< Numbers of a chunk.
  bool replays_several_ = true;
  bool by_replay_ = false;  ///< The batch was replayed.
  bool told_why_not_ = false;
};

}  // namespace kith
