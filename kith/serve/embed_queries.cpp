#include "kith/serve/embed_queries.h"

#include <algorithm>
#include <bit>

#include <torch/torch.h>

#include "kith/eval/embed_pictures.h"
#include "kith/index/rows.h"
#include "kith/ops/pairwise.h"
#include "kith/ops/upload.h"

namespace kith {
namespace {

/// The unit embeddings of pixels [N, H, W, C], with those of the mirror images
/// added. On a GPU, where a new shape is slow the first time, N is filled up to
/// a power of two: then there are few shapes.
Tensor sum_of_flips(ReplayedForward& network, const Tensor& pixels, bool flip) {
  const auto usual = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(pixels.size(0))));
  const Tensor x = normalize_rows(forward_pixels(network, pixels, usual));
  if (!flip) return x;
  return x + normalize_rows(forward_pixels(network, pixels.flip({2}), usual));
}

}  // namespace

Tensor embed_queries(ReplayedForward& network,
                     std::vector<std::vector<Image>>& pictures,
                     const DescriptorOptions& descriptor, int64_t batch) {
  const torch::NoGradGuard no_grad;
  EmbeddingNet& net = network.net();
  Tensor sums =
      torch::zeros({static_cast<int64_t>(pictures.size()), net.dim()},
                   torch::TensorOptions(torch::kFloat).device(net.device()));
  for (const BatchPart& part : join_pictures(pictures, page_locked)) {
    const Tensor pixels = pixels_of(part);
    const Tensor rows =
        torch::tensor(part.positions, torch::kLong).to(net.device());
    const int64_t pass =
        std::min(batch, net.input().as_many(batch, part.height, part.width));
    for (int64_t begin = 0; begin < part.count(); begin += pass) {
      const int64_t end = std::min(begin + pass, part.count());
      const Upload upload(pixels.slice(0, begin, end), net.device());
      sums.index_add_(0, rows.slice(0, begin, end),
                      sum_of_flips(network, upload.get(), descriptor.flip)
                          .to(torch::kFloat));
      upload.wait();
    }
  }
  // Those of the first numbers alone, if that is all there is to be.
  const Tensor whole = sums.narrow(1, 0, descriptor.dim_of(net.dim()));
  const Tensor rows = normalize_rows(whole).to(torch::kCPU).contiguous();
  check_unit(rows, "the model's embeddings of queries", 0);
  return rows;
}

}  // namespace kith
