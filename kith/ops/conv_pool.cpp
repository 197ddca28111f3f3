#include "kith/ops/conv_pool.h"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/ops/conv_pool_kernels.h"
#include "kith/ops/cpu_level.h"
#include "kith/ops/is_recorded.h"

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// Pictures whose gradients are added up by themselves.
constexpr int64_t kPictures = 8;

const ConvPoolKernels& conv_pool_kernels() {
  switch (cpu_level()) {
    case CpuLevel::kPlain:
      return plain_conv_pool;
    case CpuLevel::kAvx2:
      return avx2_conv_pool;
    case CpuLevel::kAvx512:
      return avx512_conv_pool;
  }
  return plain_conv_pool;
}

/// Without the weight and what comes out.
ConvPool problem(const Tensor& images, int64_t filters) {
  ConvPool p;
  p.images = images.data_ptr<float>();
  std::copy_n(images.strides().begin(), 4, p.strides);
  p.channels = images.size(1);
  p.height = images.size(2);
  p.width = images.size(3);
  p.filters = filters;
  return p;
}

/// [N, F, H / 2, W / 2] and its places.
std::pair<Tensor, Tensor> run_forward(const Tensor& images,
                                      const Tensor& weight) {
  const Tensor taps = weight.detach().permute({1, 2, 3, 0}).contiguous();
  const Tensor pooled = torch::empty(
      {images.size(0), weight.size(0), images.size(2) / 2, images.size(3) / 2},
      images.options().memory_format(at::MemoryFormat::ChannelsLast));
  const Tensor place = torch::empty_like(pooled, at::kByte);
  ConvPool p = problem(images, weight.size(0));
  p.weight = taps.data_ptr<float>();
  p.pooled = pooled.data_ptr<float>();
  p.place = place.data_ptr<uint8_t>();
  const ConvPoolKernels& kernels = conv_pool_kernels();
  at::parallel_for(0, images.size(0), 1, [&](int64_t begin, int64_t end) {
    kernels.forward(p, begin, end);
  });
  return {pooled, place};
}

/// dL/dweight of dL/dpooled.
Tensor run_backward(const Tensor& images, const Tensor& weight,
                    const Tensor& place, const Tensor& gradient) {
  const int64_t count = images.size(0);
  const int64_t groups = (count + kPictures - 1) / kPictures;
  const Tensor rows = gradient.contiguous(at::MemoryFormat::ChannelsLast);
  Tensor sums = torch::zeros({groups, weight.size(1), 3, 3, weight.size(0)},
                             images.options());
  ConvPool p = problem(images, weight.size(0));
  p.place = place.data_ptr<uint8_t>();
  const ConvPoolKernels& kernels = conv_pool_kernels();
  at::parallel_for(0, groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      kernels.backward(p, rows.data_ptr<float>(),
                       sums.data_ptr<float>() + group * weight.numel(),
                       group * kPictures,
                       std::min(count, (group + 1) * kPictures));
    }
  });
  // It lies in memory as the weight does.
  return torch::empty_like(weight).copy_(sums.sum(0).permute({3, 0, 1, 2}));
}

class ConvPoolFunction : public torch::autograd::Function<ConvPoolFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& images,
                          const Variable& weight) {
    const auto [pooled, place] = run_forward(images, weight);
    context->save_for_backward({images, weight, place});
    return pooled;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    const variable_list saved = context->get_saved_variables();
    if (!at::GradMode::is_enabled()) {
      return {{}, run_backward(saved[0], saved[1], saved[2], outer[0])};
    }
    // For a second derivative: of the two layers one after the other.
    const Variable pooled = torch::max_pool2d(
        torch::conv2d(saved[0], saved[1], {}, /*stride=*/1, /*padding=*/1), 2);
    return {{},
            torch::autograd::grad({pooled}, {saved[1]}, {outer[0]}, true,
                                  /*create_graph=*/true)
                .front()};
  }
};

bool is_plain_float(const Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat &&
         x.layout() == at::kStrided && x.dim() == 4;
}

}  // namespace

bool can_conv_pool(const Tensor& images, const Tensor& weight) {
  if (is_recorded()) return false;
  if (!is_plain_float(images) || !is_plain_float(weight)) return false;
  const int64_t channels = images.size(1);
  return !images.requires_grad() && channels <= ConvPool::kMostChannels &&
         images.size(2) % 2 == 0 && images.size(3) % 2 == 0 &&
         weight.sizes().slice(1) == at::IntArrayRef({channels, 3, 3}) &&
         weight.size(0) % ConvPool::kWidest == 0;
}

Tensor conv_pool(const Tensor& images, const Tensor& weight) {
  TORCH_CHECK_VALUE(can_conv_pool(images, weight),
                    "[conv_pool] not for pictures ", images.toString(), " ",
                    images.sizes(), " and filters ", weight.toString(), " ",
                    weight.sizes());
  if (at::GradMode::is_enabled() && weight.requires_grad()) {
    return ConvPoolFunction::apply(images, weight);
  }
  return run_forward(images, weight).first;
}

}  // namespace kith
