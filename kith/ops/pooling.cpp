#include "kith/ops/pooling.h"

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/ops/fused_way.h"
#include "kith/ops/gpu.h"
#include "kith/ops/pool_kernels.h"
#include "kith/ops/token_launch.h"

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

/// Calls run(kernels) with those for maps like `map`.
template <class Run>
void with_pool_kernels(const Tensor& map, const Run& run) {
  const c10::DeviceGuard guard(map.device());
  for_map_type(map.scalar_type(), [&]<class T>() {
    run(map.is_cuda() ? cuda_pool_kernels<T>() : cpu_pool_kernels<T>());
  });
}

/// `means` are [2, images, channels].
template <class T>
GemPool<T> gem_of(const Tensor& map, const Tensor& power, double floor,
                  const Tensor& means) {
  GemPool<T> pool;
  pool.images = map.size(0);
  pool.channels = map.size(1);
  pool.positions = map.size(2) * map.size(3);
  pool.x = numbers<T>(map);
  pool.power = numbers<Sum<T>>(power);
  pool.floor = static_cast<Sum<T>>(floor);
  pool.mean = numbers<Sum<T>>(means);
  pool.log_mean = pool.mean + means.numel() / 2;
  return pool;
}

class GemPoolFunction : public torch::autograd::Function<GemPoolFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& x,
                          const Variable& p, double floor) {
    const at::ScalarType type = fused_type(x);
    const Tensor map = as_map(x, type);
    const Tensor power = p.to(sum_type(type));
    const Tensor means = at::empty({2, x.size(0), x.size(1)}, power.options());
    const Tensor y = at::empty({x.size(0), x.size(1)}, power.options());
    with_pool_kernels(map, [&]<class T>(const PoolKernels<T>& kernels) {
      kernels.gem(gem_of<T>(map, power, floor, means), numbers<Sum<T>>(y),
                  current_stream());
    });
    context->save_for_backward({map, power, means});
    context->saved_data["floor"] = floor;
    context->saved_data["type"] = static_cast<int64_t>(x.scalar_type());
    return y;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    refuse_second_derivative("gem_pool");
    const variable_list saved = context->get_saved_variables();
    const Tensor &map = saved[0], &power = saved[1];
    const Tensor dy = laid_out(outer[0]);
    const Tensor dx = at::empty_like(map);
    const Tensor dp = at::empty_like(dy);
    with_pool_kernels(map, [&]<class T>(const PoolKernels<T>& kernels) {
      kernels.gem_gradient(
          gem_of<T>(map, power, context->saved_data["floor"].toDouble(),
                    saved[2]),
          numbers<Sum<T>>(dy), numbers<T>(dx), numbers<Sum<T>>(dp),
          current_stream());
    });
    const auto type =
        static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    return {dx.to(type), dp.sum().view({1}), {}};
  }
};

template <class T>
MaxPool<T> max_of(const Tensor& map) {
  MaxPool<T> pool;
  pool.images = map.size(0);
  pool.channels = map.size(1);
  pool.height = map.size(2);
  pool.width = map.size(3);
  pool.out_height = MaxPool<T>::out_size(pool.height);
  pool.out_width = MaxPool<T>::out_size(pool.width);
  return pool;
}

class MaxPoolFunction : public torch::autograd::Function<MaxPoolFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& x) {
    const Tensor map = as_map(x, fused_type(x));
    const auto shape = max_of<float>(map);
    const Tensor y = at::empty(
        {shape.images, shape.channels, shape.out_height, shape.out_width},
        map.options().memory_format(at::MemoryFormat::ChannelsLast));
    const Tensor place = at::empty_like(y, at::kByte);
    with_pool_kernels(map, [&]<class T>(const PoolKernels<T>& kernels) {
      kernels.max(max_of<T>(map), numbers<T>(map), numbers<T>(y),
                  numbers<uint8_t>(place), current_stream());
    });
    context->save_for_backward({place});
    context->saved_data["sizes"] = x.sizes().vec();
    context->saved_data["type"] = static_cast<int64_t>(x.scalar_type());
    return y;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    refuse_second_derivative("max_pool_3x3");
    const Tensor place = context->get_saved_variables()[0];
    // The type of y.
    const Tensor gradient = as_map(outer[0], outer[0].scalar_type());
    const Tensor dx = at::empty(
        context->saved_data["sizes"].toIntVector(),
        gradient.options().memory_format(at::MemoryFormat::ChannelsLast));
    with_pool_kernels(gradient, [&]<class T>(const PoolKernels<T>& kernels) {
      kernels.max_gradient(max_of<T>(dx), numbers<T>(gradient),
                           numbers<uint8_t>(place), numbers<T>(dx),
                           current_stream());
    });
    return {dx.to(
        static_cast<at::ScalarType>(context->saved_data["type"].toInt()))};
  }
};

}  // namespace

bool can_pool(const Tensor& map) {
  if (!takes_fused_way(map) || map.dim() != 4 || map.numel() == 0) return false;
  // On a GPU maps are in bfloat16.
  const int64_t vector =
      map.is_cuda() ? cuda_pool_kernels<Bf16>().vector : int64_t{1};
  return map.size(1) % vector == 0;
}

Tensor gem_pool(const Tensor& map, const Tensor& p, double floor) {
  TORCH_CHECK_VALUE(map.dim() == 4 && p.numel() == 1 && floor > 0,
                    "[gem_pool] expected a map [N, C, H, W], one power and a "
                    "floor above zero, got ",
                    map.sizes(), ", ", p.sizes(), " and ", floor);
  TORCH_CHECK_VALUE(can_pool(map) && p.device() == map.device(),
                    "[gem_pool] not for maps ", map.toString(), " ",
                    map.sizes(), " with a power on ", p.device());
  return GemPoolFunction::apply(map, p, floor);
}

Tensor max_pool_3x3(const Tensor& map) {
  TORCH_CHECK_VALUE(can_pool(map), "[max_pool_3x3] not for maps ",
                    map.toString(), " ", map.sizes());
  return MaxPoolFunction::apply(map);
}

}  // namespace kith
