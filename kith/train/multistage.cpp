#include "kith/train/multistage.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/memory.h"
#include "kith/core/rng.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

/// Left free beside the graphs, for the loss and what else grows.
constexpr int64_t kSpareBytes = int64_t{1} << 30;

/// Statistics that batch norm gathers in training. A second pass over a chunk
/// must not count it twice.
class KeptStatistics {
 public:
  explicit KeptStatistics(const EmbeddingNet& net) {
    for (const Tensor& buffer : gathered_statistics(net)) {
      kept_.emplace_back(buffer, buffer.clone());
    }
  }

  ~KeptStatistics() {
    const torch::NoGradGuard no_grad;
    for (auto& [buffer, before] : kept_) buffer.copy_(before);
  }
  KeptStatistics(const KeptStatistics&) = delete;
  KeptStatistics& operator=(const KeptStatistics&) = delete;

 private:
  std::vector<std::pair<Tensor, Tensor>> kept_;
};

}  // namespace

std::vector<Tensor> gathered_statistics(const EmbeddingNet& net) {
  std::vector<Tensor> all;
  for (const auto& module : net.modules(/*include_self=*/false)) {
    const auto* norm = module->as<torch::nn::BatchNorm2dImpl>();
    if (norm == nullptr || !norm->is_training()) continue;
    for (const Tensor& buffer : norm->buffers()) all.push_back(buffer);
  }
  return all;
}

KeepGraphs parse_keep_graphs(const std::string& text) {
  if (text == "none") return KeepGraphs::kNone;
  if (text == "all") return KeepGraphs::kAll;
  KITH_ASSERT(text == "auto");
  return KeepGraphs::kAuto;
}

Multistage::Multistage(EmbeddingNet& net, c10::Device device, int64_t sub_batch,
                       KeepGraphs keep)
    : net_(net), device_(device), sub_batch_(sub_batch), keep_(keep) {}

int64_t Multistage::chunk_size() const {
  const int64_t count = pixels_.size(0);
  return sub_batch_ == 0 ? count : std::min(sub_batch_, count);
}

Upload Multistage::start_upload(int64_t chunk) const {
  if (chunk >= chunks_) return {};
  const int64_t begin = chunk * chunk_size();
  const int64_t end = std::min(begin + chunk_size(), pixels_.size(0));
  return Upload(pixels_.slice(0, begin, end), device_);
}

/// One copy to the device serves all chunks and both passes.
Tensor Multistage::draw_all_partners(const Mixup& mixup) const {
  std::vector<Tensor> all;
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const int64_t begin = chunk * chunk_size();
    const int64_t count = std::min(chunk_size(), pixels_.size(0) - begin);
    all.push_back(draw_partners(mixup, chunk, count) + begin);
  }
  return torch::cat(all).to(device_);
}

Mixing Multistage::mixing_of(int64_t chunk, int64_t images) const {
  if (!mixup_) return {};
  const int64_t begin = chunk * chunk_size();
  return {mixup_->lambda, mixup_->point,
          partners_.narrow(0, begin, images) - begin};
}

Tensor Multistage::forward(int64_t chunk, const Tensor& pixels) const {
  torch::manual_seed(Rng(seed_, Stream::kStep, {chunk}).next());
  return net_.forward(net_.prepare(pixels), mixing_of(chunk, pixels.size(0)));
}

Tensor Multistage::embed(const Tensor& pixels, uint64_t seed,
                         const std::optional<Mixup>& mixup) {
  drop();
  pixels_ = pixels;
  seed_ = seed;
  chunks_ = (pixels.size(0) + chunk_size() - 1) / chunk_size();
  mixup_ = mixup;
  partners_ = mixup ? draw_all_partners(*mixup) : Tensor();
  kept_ = 0;
  bool keep = keep_ != KeepGraphs::kNone;
  std::vector<Tensor> parts;
  Upload next = start_upload(0);
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const Tensor here = next.get();
    next = start_upload(chunk + 1);
    // The first chunks keep their graphs: backward() frees these before it
    // computes the others again.
    keep = keep && (keep_ == KeepGraphs::kAll || fits(here.size(0)));
    const torch::AutoGradMode with_graph(keep);
    const int64_t before = memory_in_use();
    const Tensor part = forward(chunk, here);
    parts.push_back(part.detach());
    if (!keep) continue;
    graphs_.push_back(part);
    ++kept_;
    const auto bytes = static_cast<double>(memory_in_use() - before);
    graph_bytes_an_image_ = std::max(graph_bytes_an_image_,
                                     bytes / static_cast<double>(here.size(0)));
  }
  return torch::cat(parts).requires_grad_();
}

void Multistage::backward(const Tensor& gradient) {
  KITH_ASSERT(pixels_.defined() && gradient.size(0) == pixels_.size(0));
  const std::vector<Tensor> parts = gradient.split(chunk_size());
  for (int64_t chunk = 0; chunk < kept_; ++chunk) {
    const auto place = static_cast<size_t>(chunk);
    std::exchange(graphs_[place], Tensor()).backward(parts[place]);
  }
  if (kept_ < chunks_) {
    const KeptStatistics statistics(net_);
    Upload next = start_upload(kept_);
    for (int64_t chunk = kept_; chunk < chunks_; ++chunk) {
      const Tensor here = next.get();
      next = start_upload(chunk + 1);
      forward(chunk, here).backward(parts[static_cast<size_t>(chunk)]);
    }
  }
  drop();
}

void Multistage::drop() {
  graphs_.clear();
  pixels_.reset();
}

bool Multistage::halve_sub_batch(int64_t batch) {
  const int64_t size = sub_batch_ == 0 ? batch : std::min(sub_batch_, batch);
  if (size < 2) return false;
  sub_batch_ = (size + 1) / 2;
  return true;
}

int64_t Multistage::memory_in_use() const {
  if (device_.is_cuda()) return gpu_memory(device_.index()).used;
  return resident_bytes().value_or(0);
}

/// Whether another graph fits. Backward takes memory beside it: as much again
/// is a safe bound, for it frees the graph while it goes.
bool Multistage::fits(int64_t images) const {
  const int64_t available = device_.is_cuda()
                                ? gpu_memory(device_.index()).available
                                : available_bytes().value_or(0);
  const double wanted = 2 * graph_bytes_an_image_ * static_cast<double>(images);
  return static_cast<double>(available - kSpareBytes) >= wanted;
}

}  // namespace kith
