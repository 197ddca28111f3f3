#include "kith/ops/stem.h"

#include <torch/torch.h>

namespace kith {
namespace {

constexpr int64_t kStemChannels = 16;

/// Sizes of a kernel of k.
struct StemShape {
  explicit StemShape(int64_t kernel)
      : odd((kernel - 1) / 2 % 2),
        taps((kernel + odd + 1) / 2),
        before(((kernel - 1) / 2 + odd) / 2) {}
  int64_t odd;     ///< o
  int64_t taps;    ///< k'
  int64_t before;  ///< Padding above and to the left.
};

}  // namespace

bool is_stem(const Tensor& weight, int64_t stride, int64_t padding,
             int64_t groups, int64_t height, int64_t width) {
  const int64_t kernel = weight.size(2);
  return stride == 2 && groups == 1 && 4 * weight.size(1) <= kStemChannels &&
         weight.size(3) == kernel && kernel >= 3 && kernel % 2 == 1 &&
         padding == (kernel - 1) / 2 && height % 2 == 0 && width % 2 == 0;
}

Tensor stem_map(const Tensor& map, int64_t kernel) {
  const StemShape shape(kernel);
  const int64_t count = map.size(0), channels = map.size(1);
  const int64_t rows = map.size(2) / 2, columns = map.size(3) / 2;
  const Tensor all = at::zeros(
      {count, kStemChannels, rows + shape.taps - 1, columns + shape.taps - 1},
      map.options().memory_format(at::MemoryFormat::ChannelsLast));
  // [N, rows, columns, p, q, C]
  all.permute({0, 2, 3, 1})
      .narrow(1, shape.before, rows)
      .narrow(2, shape.before, columns)
      .narrow(3, 0, 4 * channels)
      .unflatten(3, {2, 2, channels})
      .copy_(map.permute({0, 2, 3, 1})
                 .reshape({count, rows, 2, columns, 2, channels})
                 .permute({0, 1, 3, 2, 4, 5}));
  return all;
}

Tensor stem_weight(const Tensor& weight) {
  const StemShape shape(weight.size(2));
  const int64_t out = weight.size(0), channels = weight.size(1);
  const int64_t behind = 2 * shape.taps - shape.odd - weight.size(2);
  const Tensor wide =
      at::constant_pad_nd(weight, {shape.odd, behind, shape.odd, behind});
  const Tensor deep =
      wide.reshape({out, channels, shape.taps, 2, shape.taps, 2})
          .permute({0, 3, 5, 1, 2, 4})
          .reshape({out, 4 * channels, shape.taps, shape.taps});
  return at::constant_pad_nd(deep,
                             {0, 0, 0, 0, 0, kStemChannels - 4 * channels})
      .contiguous(at::MemoryFormat::ChannelsLast);
}

Tensor stem_weight_gradient(const Tensor& gradient, int64_t channels,
                            int64_t kernel) {
  const StemShape shape(kernel);
  const int64_t out = gradient.size(0);
  return gradient.narrow(1, 0, 4 * channels)
      .reshape({out, 2, 2, channels, shape.taps, shape.taps})
      .permute({0, 3, 4, 1, 5, 2})
      .reshape({out, channels, 2 * shape.taps, 2 * shape.taps})
      .narrow(2, shape.odd, kernel)
      .narrow(3, shape.odd, kernel);
}

}  // namespace kith
