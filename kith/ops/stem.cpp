#include "kith/ops/stem.h"

#include <torch/torch.h>

#include "kith/ops/conv_kernels.h"
#include "kith/ops/folded_conv.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

constexpr int64_t kStemChannels = StemMap<float>::kChannels;

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
  return stride == 2 && groups == 1 &&
         weight.size(1) <= StemMap<float>::kMostIn &&
         weight.size(3) == kernel && kernel >= 3 && kernel % 2 == 1 &&
         padding == (kernel - 1) / 2 && height % 2 == 0 && width % 2 == 0;
}

Tensor stem_map(const Tensor& images, int64_t kernel, at::ScalarType type) {
  const StemShape shape(kernel);
  const at::ScalarType own = images.scalar_type();
  const bool is_known = own == type || own == sum_type(type);
  const Tensor x = (is_known ? images : images.to(type))
                       .contiguous(at::MemoryFormat::ChannelsLast);
  const bool is_rounded = x.scalar_type() == type;
  const Tensor y = at::empty(
      {x.size(0), kStemChannels, x.size(2) / 2 + shape.taps - 1,
       x.size(3) / 2 + shape.taps - 1},
      x.options().dtype(type).memory_format(at::MemoryFormat::ChannelsLast));
  with_conv_kernels(y, [&]<class T>(const ConvKernels<T>& kernels) {
    StemMap<T> p;
    p.images = x.size(0);
    p.channels = x.size(1);
    p.height = x.size(2);
    p.width = x.size(3);
    p.out_height = y.size(2);
    p.out_width = y.size(3);
    p.before = shape.before;
    p.x = is_rounded ? numbers<T>(x) : nullptr;
    p.wide = is_rounded ? nullptr : numbers<Sum<T>>(x);
    p.y = numbers<T>(y);
    kernels.stem_map(p, current_stream());
  });
  return y;
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
