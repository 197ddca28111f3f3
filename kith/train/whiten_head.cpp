#include "kith/train/whiten_head.h"

#include <algorithm>
#include <string>

#include "kith/core/draw.h"
#include "kith/core/error.h"
#include "kith/core/log.h"

namespace kith {

void whiten_head(EmbeddingNet& net, const DataSet& data,
                 const std::vector<int64_t>& candidates, uint64_t seed,
                 EmbedOptions options, Progress& progress) {
  const HeadOptions& head = net.head().options();
  Rng rng(seed, Stream::kInit, {1});
  std::vector<int64_t> images =
      draw_distinct(std::ssize(candidates), head.whiten_images, rng);
  const auto count = static_cast<int64_t>(images.size());
  if (count <= head.dim) {
    throw ConfigError(
        "'model.head.init' is whitening, which needs more images than "
        "dimensions: 'model.head.dim' is " +
        std::to_string(head.dim) + ", and there are " + std::to_string(count) +
        " training images within 'model.head.whiten_images' (" +
        std::to_string(head.whiten_images) + ")");
  }
  for (int64_t& image : images) image = candidates[static_cast<size_t>(image)];
  std::sort(images.begin(), images.end());
  options.pooled = true;
  log_info("the head's linear layer starts from the whitening of " +
           std::to_string(count) + " training images");
  const Whitening whitening =
      Whitening::learn(embed(net, data, images, options, progress), head.dim);
  net.head().set_linear(whitening.projection(), whitening.mean());
}

}  // namespace kith
