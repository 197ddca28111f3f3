#include "kith/models/shared_norm.h"

#include <torch/torch.h>

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor by_channel(const Tensor& values) { return values.view({-1, 1, 1}); }

/// The type in which statistics are taken: bfloat16 cannot hold them.
at::ScalarType sum_type(const Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Of all ranks' inputs.
struct Statistics {
  Tensor mean;      ///< [C]
  Tensor variance;  ///< [C], divided by the count
  double count = 0;
};

/// With r's share p_r of all numbers: mean = sum p_r mean_r and
/// var = sum p_r (var_r + (mean_r - mean)^2). In double: C numbers are few.
Statistics statistics_of_all(const Tensor& x, Communicator& ranks) {
  const int64_t channels = x.size(1);
  const auto [variance, mean] =
      at::var_mean(x.to(sum_type(x)), at::IntArrayRef({0, 2, 3}),
                   /*unbiased=*/false);
  const Tensor count =
      torch::full({1}, static_cast<double>(x.numel() / channels),
                  x.options().dtype(at::kDouble));
  const Tensor mine =
      torch::cat({mean.to(at::kDouble), variance.to(at::kDouble), count});
  const Tensor all = ranks.all_gather(mine.unsqueeze(0));
  const Tensor counts = all.narrow(1, 2 * channels, 1);
  const Tensor total = counts.sum();
  const Tensor share = counts / total;
  const Tensor means = all.narrow(1, 0, channels);
  Statistics found;
  found.mean = (share * means).sum(0);
  found.variance = (share * (all.narrow(1, channels, channels) +
                             (means - found.mean).square()))
                       .sum(0);
  found.count = total.item<double>();
  TORCH_CHECK_VALUE(found.count > 1,
                    "batch norm needs more than one value a channel to take "
                    "statistics, and the ranks have one together");
  return found;
}

/// y = w (x - mean) / sqrt(var + eps) + b, where mean and var depend on the x
/// of all ranks. With u = (x - mean) / sqrt(var + eps), n numbers in all and
/// sums over all ranks, dL/dx = w / sqrt(var + eps) (dy - sum(dy) / n - u
/// sum(dy u) / n). Gradients of w and b are this rank's.
class SharedNormalisation
    : public torch::autograd::Function<SharedNormalisation> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x,
                        const Tensor& weight, const Tensor& bias,
                        const Statistics& all, double eps,
                        Communicator* ranks) {
    const Tensor mean = all.mean.to(sum_type(x));
    const Tensor variance = all.variance.to(sum_type(x));
    context->save_for_backward({x, weight, mean, (variance + eps).rsqrt()});
    context->saved_data["count"] = all.count;
    context->saved_data["ranks"] = reinterpret_cast<int64_t>(ranks);
    return torch::batch_norm(x, weight, bias, mean, variance,
                             /*training=*/false, /*momentum=*/0, eps,
                             at::globalContext().userEnabledCuDNN());
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    const torch::NoGradGuard no_grad;
    const variable_list saved = context->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor dy = outer[0].to(sum_type(x));
    const Tensor factor = by_channel(saved[3]);
    const Tensor u = (x - by_channel(saved[2])).mul_(factor);
    const Tensor mine =
        torch::stack({dy.sum({0, 2, 3}), (dy * u).sum({0, 2, 3})});
    auto* ranks =
        reinterpret_cast<Communicator*>(context->saved_data["ranks"].toInt());
    const Tensor mean = ranks->all_reduce(mine.to(at::kDouble))
                            .div(context->saved_data["count"].toDouble())
                            .to(dy.scalar_type());
    const Tensor dx = (dy - by_channel(mean[0]))
                          .addcmul_(u, by_channel(mean[1]), -1)
                          .mul_(factor * by_channel(saved[1]));
    return {dx.to(x.scalar_type()), mine[1], mine[0], {}, {}, {}};
  }
};

}  // namespace

Tensor SharedNorm::forward(const Tensor& x) {
  if (ranks_->size() == 1) return norm_->forward(x);
  const auto& options = norm_->options;
  Statistics all;
  {
    const torch::NoGradGuard no_grad;
    all = statistics_of_all(x, *ranks_);
    const double momentum = *options.momentum();
    // The variance of the data that the batch is a sample of.
    const Tensor variance = all.variance * (all.count / (all.count - 1));
    norm_->running_mean.mul_(1 - momentum).add_(all.mean, momentum);
    norm_->running_var.mul_(1 - momentum).add_(variance, momentum);
    norm_->num_batches_tracked.add_(1);
  }
  return SharedNormalisation::apply(x, norm_->weight, norm_->bias, all,
                                    options.eps(), ranks_);
}

void share_statistics(torch::nn::Module& module, Communicator& ranks) {
  module.apply([&](torch::nn::Module& part) {
    auto* norm = dynamic_cast<SharedNorm*>(&part);
    if (norm != nullptr) norm->use_ranks(ranks);
  });
}

}  // namespace kith
