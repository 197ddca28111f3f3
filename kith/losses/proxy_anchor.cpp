#include "kith/losses/proxy_anchor.h"

#include <limits>

#include <torch/torch.h>

namespace kith {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// log(1 + e^u). LibTorch's own threshold of 20, above which it takes u,
/// loses digits in double, and exp(50) is still a float.
Tensor log_one_plus_exp(const Tensor& u) {
  return at::softplus(u, /*beta=*/1, /*threshold=*/50);
}

}  // namespace

const char* const ProxyAnchor::kSummary =
    "proxy anchor (Kim et al., CVPR 2020), learns a proxy per class";

const PartFacts ProxyAnchor::kFacts = {
    .formula =
        "s_ic = x_i.w_c / |w_c|, C+ the classes in the batch\n"
        "L = 1/|C+| sum_{c in C+} log(1 + sum_{y_i = c} "
        "e^{-alpha (s_ic - delta)})\n"
        "  + 1/C sum_c log(1 + sum_{y_i != c} "
        "e^{alpha (s_ic + delta)})",
    .source = "Kim, Kim, Cho & Kwak, CVPR 2020",
    .cost = "O(M C D) time, O(M C) memory",
    .golden = "pml_proxy_anchor"};

void ProxyAnchorOptions::describe(OptionSet& set) {
  set.add("alpha", alpha, "Scale of similarities.").positive();
  set.add("margin", margin,
          "delta: positives are pulled above it, negatives pushed below "
          "-delta.");
  training.describe(set, " The paper's: 100 times the network's 1e-4.");
}

ProxyAnchor::ProxyAnchor(const Options& options, const LossContext& context)
    : ClassVectorLoss({context, ClassInit::kHeCount},
                      checked(options, "proxy_anchor").training),
      options_(options) {}

LossOutput ProxyAnchor::forward(const LossInput& input) const {
  const Tensor& x = input.embeddings;
  const ClassProducts products = vectors().products(x, options_.alpha);
  const Tensor& z = products.values();  // alpha s
  const Tensor own = input.labels.unsqueeze(1);
  const double shift = options_.alpha * options_.margin;
  // Exponents of what is in the sums; all others are -infinity.
  Tensor pull =
      torch::full_like(z, kNever).scatter_(1, own, shift - z.gather(1, own));
  Tensor push = (z + shift).scatter_(1, own, kNever);
  const Tensor pull_sum = pull.logsumexp(0);
  const Tensor pulls = log_one_plus_exp(pull_sum);
  const Tensor pushes = log_one_plus_exp(push.logsumexp(0));
  const Tensor present = (pull_sum != kNever).sum().clamp_min_(1);
  // An infinite embedding could be on the right side of all proxies.
  const Tensor spoilt = x.detach().sum() * 0;
  const Tensor value = pulls.sum() / present + pushes.mean() + spoilt;
  // d log(1 + sum e^u) / du = e^{u - log(1 + sum e^u)}
  const Tensor slope = push.sub_(pushes).exp_().div_(classes()).sub_(
      pull.sub_(pulls).exp_().div_(present));
  return {products.connect({value, slope}), {}};
}

KITH_REGISTER(loss_registry(), "proxy_anchor", ProxyAnchor);

}  // namespace kith
