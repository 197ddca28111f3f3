#include "kith/eval/embed_pictures.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/buckets.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

/// Makes the pictures of images with threads that work ahead. The loader's own
/// batches hold pictures of one size, so it gets a mark for each image, and the
/// pictures are left in a place of their own: written before the mark is taken.
class PictureLoader {
 public:
  PictureLoader(const EmbeddingNet& net, const DataSet& data,
                const std::vector<int64_t>& indices,
                const EmbedOptions& options)
      : made_(indices.size()),
        loader_(
            in_batches(indices, 1),
            [&net, &data, &options, this](int64_t n, int64_t, int64_t index) {
              made_[static_cast<size_t>(n)] =
                  make(net.input(), data, options, index);
              return Image(1, 1, 1);
            },
            {options.loader.threads, 2 * options.loader.threads}) {}

  bool has_next() const { return loader_.remaining() > 0; }

  std::vector<Image> next() {
    loader_.next();
    return std::move(made_[next_++]);
  }

 private:
  static std::vector<Image> make(const InputOptions& input, const DataSet& data,
                                 const EmbedOptions& options, int64_t index) {
    const auto from = [&](const Image& image) {
      return make_pictures(image, input, options.descriptor);
    };
    std::vector<Image> pictures = options.cache != nullptr
                                      ? from(*options.cache->load(index))
                                      : from(data.load(index));
    if (options.change) {
      for (Image& picture : pictures) picture = options.change(picture, index);
    }
    return pictures;
  }

  std::vector<std::vector<Image>> made_;
  size_t next_ = 0;
  Loader loader_;  ///< Last: its threads end before what they write goes.
};

/// [N, H, W, C] bytes on the CPU.
Tensor stack(const std::vector<Picture>& pictures) {
  const Image& first = pictures.front().image;
  Tensor pixels = torch::empty({static_cast<int64_t>(pictures.size()),
                                first.height, first.width, first.channels},
                               torch::kByte);
  auto* out = pixels.data_ptr<uint8_t>();
  for (const Picture& picture : pictures) {
    const std::vector<uint8_t>& from = picture.image.pixels;
    std::memcpy(out, from.data(), from.size());
    out += from.size();
  }
  return pixels;
}

/// [N] int64
Tensor rows_of(const std::vector<Picture>& pictures) {
  std::vector<int64_t> rows;
  for (const Picture& picture : pictures) rows.push_back(picture.row);
  return torch::tensor(rows, torch::kLong);
}

BucketLimits limits_of(const InputOptions& input, const EmbedOptions& options) {
  constexpr int64_t kMost = 1 << 20;  // so many never wait together
  const int64_t batch = std::min(options.batch, kMost);
  BucketLimits limits;
  limits.pictures = batch;
  limits.pixels = batch * input.size * input.size;
  limits.waiting = 4 * batch;
  return limits;
}

}  // namespace

Tensor forward_pixels(EmbeddingNet& net, const Tensor& pixels, int64_t usual) {
  const int64_t missing = usual - pixels.size(0);
  if (missing <= 0 || !pixels.is_cuda()) {
    return net.forward(net.prepare(pixels));
  }
  const Tensor full =
      torch::constant_pad_nd(pixels, {0, 0, 0, 0, 0, 0, 0, missing});
  return net.forward(net.prepare(full)).slice(0, 0, pixels.size(0));
}

Tensor embed_pictures(EmbeddingNet& net, const DataSet& data,
                      const std::vector<int64_t>& indices,
                      const EmbedOptions& options, Progress& progress) {
  const auto count = static_cast<int64_t>(indices.size());
  const DescriptorOptions& descriptor = options.descriptor;
  const BucketLimits limits = limits_of(net.input(), options);
  const c10::Device device = net.device();
  const Tensor sums =
      torch::zeros({count, net.dim()}, net.parameters().front().options());
  const auto add = [&](const Tensor& rows, const Tensor& pixels,
                       int64_t usual) {
    sums.index_add_(0, rows,
                    normalize_rows(forward_pixels(net, pixels, usual)));
  };
  Buckets buckets(limits, [&](const std::vector<Picture>& pictures) {
    const Image& first = pictures.front().image;
    const int64_t usual =
        descriptor.long_side == 0
            ? std::min(count, limits.in_pass(first.width, first.height))
            : 0;
    const Tensor rows = rows_of(pictures).to(device);
    const Tensor pixels = stack(pictures).to(device);
    add(rows, pixels, usual);
    if (descriptor.flip) add(rows, pixels.flip({2}), usual);
  });
  PictureLoader loader(net, data, indices, options);
  progress.start("embed", count);
  for (int64_t row = 0; loader.has_next(); ++row) {
    std::vector<Image> pictures = loader.next();
    for (size_t i = 0; i < pictures.size(); ++i) {
      buckets.add({std::move(pictures[i]), row, static_cast<int64_t>(i)});
    }
    progress.advance(row + 1, "");
  }
  buckets.finish();
  progress.finish();
  return normalize_rows(sums);
}

}  // namespace kith
