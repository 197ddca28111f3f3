#include "kith/eval/embed_pictures.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "kith/ops/upload.h"

namespace kith {
namespace {

std::vector<Image> pictures_of(const EmbeddingNet& net, const DataSet& data,
                               const EmbedOptions& options, int64_t index) {
  const auto from = [&](const Image& image) {
    return make_pictures(image, net.input(), options.descriptor);
  };
  std::vector<Image> pictures = options.cache != nullptr
                                    ? from(*options.cache->load(index))
                                    : from(data.load(index));
  if (options.change) {
    for (Image& picture : pictures) picture = options.change(picture, index);
  }
  return pictures;
}

/// Adds up what the network makes of the pictures of a batch, a row an image.
class Sums {
 public:
  Sums(ReplayedForward& network, const EmbedOptions& options, int64_t of_all)
      : network_(network),
        net_(network.net()),
        options_(options),
        of_all_(of_all) {}

  /// [n, dim]. Returns when the batch's memory has been read.
  Tensor of(const Batch& batch) {
    const Tensor sums = torch::zeros(
        {batch.count(), options_.pooled ? net_.pooled_dim() : net_.dim()},
        net_.parameters().front().options());
    for (const BatchPart& part : batch.parts) {
      const Tensor pixels = pixels_of(part);
      const Tensor rows =
          torch::tensor(part.positions, torch::kLong).to(net_.device());
      const int64_t pass = std::min(
          options_.batch,
          net_.input().as_many(options_.batch, part.height, part.width));
      for (int64_t begin = 0; begin < part.count(); begin += pass) {
        const int64_t end = std::min(begin + pass, part.count());
        const Upload upload(pixels.slice(0, begin, end), net_.device());
        const Tensor here = rows.slice(0, begin, end);
        add(sums, here, upload.get(), usual(pass));
        if (options_.descriptor.flip) {
          add(sums, here, upload.get().flip({2}), usual(pass));
        }
        finish_copy(upload, options_.times);
      }
    }
    return is_plain() ? sums : normalize_rows(sums);
  }

 private:
  /// Sizes come back only if all images become the same ones.
  int64_t usual(int64_t pass) const {
    const bool few_sizes =
        options_.descriptor.long_side == 0 && !net_.input().any_shape();
    return few_sizes ? std::min(of_all_, pass) : 0;
  }

  bool is_plain() const { return options_.descriptor.is_plain(); }

  void add(const Tensor& sums, const Tensor& rows, const Tensor& pixels,
           int64_t usual) {
    const Tensor x = forward_pixels(network_, pixels, usual);
    sums.index_add_(0, rows, is_plain() ? x : normalize_rows(x));
  }

  ReplayedForward& network_;
  EmbeddingNet& net_;
  const EmbedOptions& options_;
  int64_t of_all_;
};

}  // namespace

int64_t images_a_batch(const InputOptions& input, const EmbedOptions& options) {
  constexpr double kBytes = 256 << 20;
  const auto side = static_cast<double>(options.descriptor.long_side);
  const double pixels =
      side > 0 ? side * side : static_cast<double>(input.most_pixels());
  double bytes = 0;  // of all pictures of an image, at most
  for (const double scale : options.descriptor.scales) {
    bytes += static_cast<double>(input.channels()) * pixels * scale * scale;
  }
  const auto fit = static_cast<int64_t>(kBytes / bytes);
  return std::max<int64_t>(
      1, std::min(options.batch, std::max(options.loader.threads, fit)));
}

LoaderOptions loader_for(const EmbeddingNet& net, const EmbedOptions& options) {
  LoaderOptions loader = options.loader;
  if (net.device().is_cuda()) loader.allocate = page_locked;
  return loader;
}

Tensor forward_pixels(ReplayedForward& network, const Tensor& pixels,
                      int64_t usual) {
  const int64_t missing = usual - pixels.size(0);
  if (missing <= 0 || !pixels.is_cuda()) return network(pixels);
  const Tensor full =
      torch::constant_pad_nd(pixels, {0, 0, 0, 0, 0, 0, 0, missing});
  return network(full).slice(0, 0, pixels.size(0));
}

void embed_pictures(ReplayedForward& network, const DataSet& data,
                    const ImageBatches& images, const EmbedOptions& options,
                    const TakeRows& take) {
  const auto load = [&](int64_t, int64_t, int64_t index) {
    return pictures_of(network.net(), data, options, index);
  };
  Sums sums(network, options, images.of_all);
  Loader loader(images.batches, load, loader_for(network.net(), options));
  while (loader.remaining() > 0) {
    take(sums.of(next_batch(loader, options.times)));
  }
}

}  // namespace kith
