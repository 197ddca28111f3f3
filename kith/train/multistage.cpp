#include "kith/train/multistage.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/memory.h"
#include "kith/core/rng.h"
#include "kith/ops/gpu.h"
#include "kith/ops/kept_memory.h"
#include "kith/ops/upload.h"

namespace kith {
namespace {

/// Left free beside the graphs, for the loss and what else grows.
constexpr int64_t kSpareBytes = int64_t{1} << 30;

void check_sub_batch(int64_t sub_batch) {
  TORCH_CHECK_VALUE(sub_batch >= 0,
                    "the sub-batch must be at least 0 (all at once), got ",
                    sub_batch);
}

/// Of each of the items, [n, ...].
int64_t numbers_of(const Tensor& items) {
  return items.numel() / std::max<int64_t>(1, items.size(0));
}

/// How many items of `numbers` numbers hold no more of them than `count` items
/// of `largest`; at least one. The network's memory grows with them.
int64_t as_many(int64_t count, int64_t largest, int64_t numbers) {
  constexpr int64_t kMost = int64_t{1} << 32;  // times numbers: no overflow
  return std::max<int64_t>(
      1, std::min(count, kMost) * largest / std::max<int64_t>(1, numbers));
}

}  // namespace

KeepGraphs parse_keep_graphs(const std::string& text) {
  if (text == "none") return KeepGraphs::kNone;
  if (text == "all") return KeepGraphs::kAll;
  KITH_ASSERT(text == "auto");
  return KeepGraphs::kAuto;
}

Multistage::Multistage(EmbeddingNet& net, c10::Device device, int64_t sub_batch,
                       KeepGraphs keep)
    : network_([&net](const Tensor& pixels, const Mixing& mixing) {
        return net.forward(net.prepare(pixels), mixing);
      }),
      module_(&net),
      most_(net.input().most_pixels() * net.input().channels()),
      device_(device),
      sub_batch_(sub_batch),
      keep_(keep) {
  check_sub_batch(sub_batch);
}

Multistage::Multistage(const OwnNetwork& network, c10::Device device,
                       int64_t sub_batch, KeepGraphs keep)
    : network_([network](const Tensor& items, const Mixing& mixing) {
        return network.forward(mixing(0, items));
      }),
      module_(network.module().get()),
      most_(0),
      device_(device),
      sub_batch_(sub_batch),
      keep_(keep) {
  check_sub_batch(sub_batch);
  TORCH_CHECK_VALUE(module_ != nullptr,
                    "a network of your own needs the module that has its "
                    "parameters, got none");
}

int64_t Multistage::chunks() const {
  return static_cast<int64_t>(chunks_.size());
}

void Multistage::cut_into_chunks() {
  chunks_.clear();
  item_ = most_;
  for (const Part& part : parts_) {
    if (most_ == 0) item_ = std::max(item_, numbers_of(part.pixels));
  }
  std::vector<int64_t> order;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const int64_t count = parts_[i].pixels.size(0);
    const int64_t numbers = numbers_of(parts_[i].pixels);
    const int64_t most =
        sub_batch_ == 0 ? count : as_many(sub_batch_, item_, numbers);
    if (in_step_ != nullptr) {
      KITH_ASSERT(parts_.size() == 1);
      const int64_t chunks = sub_batch_ == 0 ? 1 : chunks_in_step(count, most);
      for (int64_t n = 0; n < chunks; ++n) {
        const int64_t begin = count * n / chunks;
        const int64_t here = count * (n + 1) / chunks - begin;
        chunks_.push_back({i, begin, here, here * numbers});
      }
    } else {
      for (int64_t begin = 0; begin < count; begin += most) {
        const int64_t here = std::min(most, count - begin);
        chunks_.push_back({i, begin, here, here * numbers});
      }
    }
    const std::vector<int64_t>& positions = parts_[i].positions;
    order.insert(order.end(), positions.begin(), positions.end());
  }
  const bool in_order = std::is_sorted(order.begin(), order.end());
  order_ = in_order ? Tensor() : torch::tensor(order, torch::kLong).to(device_);
}

/// As many as the rank needs that has the most pictures, if this one has
/// `count` and a chunk at most `most`.
int64_t Multistage::chunks_in_step(int64_t count, int64_t most) const {
  const Tensor counts = in_step_->all_gather(torch::full({1}, count));
  const int64_t chunks = (counts.max().item<int64_t>() + most - 1) / most;
  if (counts.min().item<int64_t>() < chunks) {
    throw RunError(
        "ranks that share the statistics of batch norm (model.bn: sync) need "
        "the same number of chunks, but of " +
        std::to_string(counts.sum().item<int64_t>()) +
        " pictures a rank has no more than " +
        std::to_string(counts.min().item<int64_t>()) +
        ": use larger batches or a larger train.sub_batch");
  }
  return chunks;
}

/// Whether this rank keeps a graph: if all in step do.
bool Multistage::all_keep(bool keep) const {
  if (in_step_ == nullptr) return keep;
  const Tensor all = in_step_->all_gather(torch::full({1}, keep ? 1 : 0));
  return all.min().item<int64_t>() > 0;
}

Tensor Multistage::pixels_of(const Chunk& chunk) const {
  return parts_[chunk.part].pixels.narrow(0, chunk.begin, chunk.count);
}

Upload Multistage::start_upload(size_t chunk) const {
  if (chunk >= chunks_.size()) return {};
  return Upload(pixels_of(chunks_[chunk]), device_);
}

/// One copy to the device serves all chunks and both passes.
Tensor Multistage::draw_all_partners(const Mixup& mixup) const {
  std::vector<Tensor> all;
  for (const Chunk& chunk : chunks_) {
    const int64_t number = first_ + static_cast<int64_t>(all.size());
    all.push_back(draw_partners(mixup, number, chunk.count) + chunk.begin);
  }
  return torch::cat(all).to(device_);
}

Mixing Multistage::mixing_of(const Chunk& chunk) const {
  if (!mixup_) return {};
  return {mixup_->lambda, mixup_->point,
          partners_.narrow(0, chunk.begin, chunk.count) - chunk.begin};
}

uint64_t Multistage::seed_of(size_t chunk) const {
  const int64_t number = first_ + static_cast<int64_t>(chunk);
  return Rng(seed_, Stream::kStep, {number}).next();
}

Tensor Multistage::forward(size_t chunk, const Tensor& pixels) {
  const RoundedWeights::Use once_a_batch(rounded_);
  torch::manual_seed(seed_of(chunk));
  return network_(pixels, mixing_of(chunks_[chunk]));
}

void Multistage::replay_chunks(int64_t most, bool several) {
  most_replayed_ = most;
  replays_several_ = several;
  replay_ = std::make_unique<ReplayedChunks>(
      *module_,
      [network = network_](const Tensor& items) { return network(items, {}); },
      device_);
}

/// Empty if the batch may be.
std::string Multistage::why_not_replayed() const {
  if (chunks_.size() != 1 && !replays_several_) {
    return "a batch goes through the network in " +
           std::to_string(chunks_.size()) +
           " chunks, which 'all' would start so too";
  }
  if (mixup_) return "its pictures are mixed otherwise each time";
  if (in_step_ != nullptr) return "its statistics are shared with other ranks";
  if (keep_ == KeepGraphs::kNone) return "no graphs are to be kept";
  if (largest_chunk() > most_replayed_) {
    return "it is so large that starting its kernels takes no time beside them";
  }
  return "";
}

/// Whether the chunks of the batch are to be replayed.
bool Multistage::begin_replay() {
  if (!replay_) return false;
  const std::string reason = why_not_replayed();
  if (!reason.empty()) {
    if (!std::exchange(told_why_not_, true)) {
      log_info("batches are not started as a whole (train.replay): " + reason);
    }
    return false;
  }
  std::vector<Tensor> items;
  int64_t numbers = 0;
  for (const Chunk& chunk : chunks_) {
    items.push_back(pixels_of(chunk));
    numbers += chunk.numbers;
  }
  return replay_->begin(items, [&] {
    // With a chunk more for what others need between the steps.
    return !device_.is_cuda() || fits(numbers + largest_chunk());
  });
}

Tensor Multistage::embed(const Tensor& pixels, uint64_t seed,
                         const std::optional<Mixup>& mixup) {
  TORCH_CHECK_VALUE(pixels.dim() > 1 && pixels.size(0) > 0,
                    "a batch must be [M, ...] with at least one picture, got ",
                    pixels.sizes());
  std::vector<int64_t> positions(static_cast<size_t>(pixels.size(0)));
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<Part> whole = {{pixels, std::move(positions)}};
  return embed(std::move(whole), seed, mixup);
}

Tensor Multistage::embed(std::vector<Part> parts, uint64_t seed,
                         const std::optional<Mixup>& mixup, int64_t first) {
  KITH_ASSERT(!parts.empty() && (!mixup || parts.size() == 1));
  drop();
  parts_ = std::move(parts);
  seed_ = seed;
  first_ = first;
  cut_into_chunks();
  mixup_ = mixup;
  partners_ = mixup ? draw_all_partners(*mixup) : Tensor();
  kept_ = 0;
  by_replay_ = begin_replay();
  bool keep = keep_ != KeepGraphs::kNone;
  std::vector<Tensor> outputs;
  Upload next = start_upload(0);
  for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
    const Tensor here = next.get();
    next = start_upload(chunk + 1);
    if (by_replay_) {
      const Tensor output = replay_->forward(here, seed_of(chunk));
      by_replay_ = output.defined();
      if (by_replay_) {
        outputs.push_back(output);
        ++kept_;
        continue;
      }
      // Those before it are computed again, and so are those behind it.
      keep = keep && chunk == 0;
      kept_ = 0;
    }
    const int64_t numbers = chunks_[chunk].numbers;
    // The first chunks keep their graphs: backward() frees these before it
    // computes the others again.
    keep = keep && (keep_ == KeepGraphs::kAll || all_keep(fits(numbers)));
    const torch::AutoGradMode with_graph(keep);
    const int64_t before = memory_in_use();
    const Tensor output = forward(chunk, here);
    outputs.push_back(output.detach());
    if (!keep) continue;
    graphs_.push_back(output);
    ++kept_;
    const auto bytes = static_cast<double>(memory_in_use() - before);
    graph_bytes_a_number_ =
        std::max(graph_bytes_a_number_, bytes / static_cast<double>(numbers));
  }
  Tensor all = torch::cat(outputs);
  if (order_.defined())
    all = torch::empty_like(all).index_copy_(0, order_, all);
  return all.requires_grad_();
}

void Multistage::backward(const Tensor& gradient,
                          const std::function<void()>& before_last) {
  TORCH_CHECK_VALUE(!parts_.empty(), "backward() needs a batch: embed() one");
  const int64_t count = std::accumulate(
      chunks_.begin(), chunks_.end(), int64_t{0},
      [](int64_t sum, const Chunk& chunk) { return sum + chunk.count; });
  TORCH_CHECK_VALUE(gradient.dim() == 2 && gradient.size(0) == count,
                    "the gradient must be that of the embeddings, [", count,
                    ", D], got ", gradient.sizes());
  const Tensor rows =
      order_.defined() ? gradient.index_select(0, order_) : gradient;
  std::vector<int64_t> counts;
  for (const Chunk& chunk : chunks_) counts.push_back(chunk.count);
  const std::vector<Tensor> parts = rows.split_with_sizes(counts);
  const auto tell = [&](size_t chunk) {
    if (before_last && chunk + 1 == chunks_.size()) before_last();
  };
  if (by_replay_) {
    if (!before_last && replay_->backward(parts)) return drop();
    kept_ = 0;
  }
  const auto kept = static_cast<size_t>(kept_);
  for (size_t chunk = 0; chunk < kept; ++chunk) {
    tell(chunk);
    std::exchange(graphs_[chunk], Tensor()).backward(parts[chunk]);
  }
  if (kept < chunks_.size()) {
    const StatisticsGuard statistics(*module_);  // a chunk counts once
    Upload next = start_upload(kept);
    for (size_t chunk = kept; chunk < chunks_.size(); ++chunk) {
      const Tensor here = next.get();
      next = start_upload(chunk + 1);
      const Tensor output = forward(chunk, here);
      tell(chunk);
      output.backward(parts[chunk]);
    }
  }
  drop();
}

void Multistage::drop() {
  graphs_.clear();
  parts_.clear();
  rounded_.clear();
  by_replay_ = false;
}

/// Numbers of it, of the last batch.
int64_t Multistage::largest_chunk() const {
  int64_t largest = 0;
  for (const Chunk& chunk : chunks_) largest = std::max(largest, chunk.numbers);
  return largest;
}

bool Multistage::halve_sub_batch() {
  if (item_ == 0) return false;
  const int64_t size = (largest_chunk() + item_ - 1) / item_;
  if (size < 2) return false;
  sub_batch_ = (size + 1) / 2;
  return true;
}

/// Without the weights that all chunks of the batch share.
int64_t Multistage::memory_in_use() const {
  const int64_t used = device_.is_cuda()
                           ? gpu_memory(device_.index()).used
                           : resident_bytes().value_or(0) - kept_bytes();
  return used - rounded_.bytes();
}

/// Whether another graph fits. Backward takes memory beside it: as much again
/// is a safe bound, for it frees the graph while it goes.
bool Multistage::fits(int64_t numbers) const {
  const int64_t available = device_.is_cuda()
                                ? gpu_memory(device_.index()).available
                                : available_bytes().value_or(0) + kept_bytes();
  const double wanted =
      2 * graph_bytes_a_number_ * static_cast<double>(numbers);
  return static_cast<double>(available - kSpareBytes) >= wanted;
}

}  // namespace kith
