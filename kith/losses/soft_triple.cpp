#include "kith/losses/soft_triple.h"

#include <torch/torch.h>

namespace kith {

const char* const SoftTriple::kSummary =
    "SoftTriple (Qian et al., ICCV 2019), learns several vectors per class";

const PartFacts SoftTriple::kFacts = {
    .formula =
        "S_ic = sum_k softmax_k(x_i.w_ck / gamma) x_i.w_ck, |w_ck| = 1\n"
        "L = mean_i -log softmax_c(lambda (S_ic - delta [c = y_i]))[y_i]\n"
        "  + tau / (C K (K - 1)) sum_c sum_{k < k'} "
        "sqrt(2 - 2 w_ck.w_ck')\n"
        "with label smoothing e over C classes -log p[y_i] becomes\n"
        "-(1 - e) log p[y_i] - e / C sum_c log p[c]",
    .source = "Qian, Shang, Sun, Hu, Li & Jin, ICCV 2019",
    .cost = "O(M C K D) time, O(M C K) memory",
    .golden = "rev_softtriplet, pml_soft_triple"};

void SoftTripleOptions::describe(OptionSet& set) {
  set.add("centers", centers, "K, vectors per class.").range(1, 1 << 20);
  set.add("lambda", lambda, "Factor of all logits.").positive();
  set.add("gamma", gamma, "Temperature of the choice among a class's vectors.")
      .positive();
  set.add("delta", delta, "Margin of the own class.");
  set.add("tau", tau,
          "Weight of the penalty on distances between vectors of one class, "
          "which merges those that are not needed.")
      .range(0);
  describe_label_smoothing(set, label_smoothing);
  training.describe(set);
}

SoftTriple::SoftTriple(const Options& options, const LossContext& context)
    : ClassVectorLoss({context, ClassInit::kUniformCount,
                       checked(options, "soft_triple").centers},
                      options.training),
      options_(options) {}

LossOutput SoftTriple::forward(const LossInput& input) const {
  const int64_t k = options_.centers;
  const ClassProducts products = vectors().products(input.embeddings);
  const Tensor s = products.values().view({-1, k, classes()});
  Tensor share = (s / options_.gamma).softmax(1);            // [M, K, C]
  const Tensor soft = (share * s).sum(1, /*keepdim=*/true);  // S [M, 1, C]
  SlopedValue loss = cross_entropy(soft.squeeze(1), input.labels);
  // dS / ds_k = share_k (1 + (s_k - S) / gamma)
  const Tensor turn = (s - soft).div_(options_.gamma).add_(1);
  loss.slope =
      share.mul_(turn).mul_(loss.slope.unsqueeze(1)).view({-1, k * classes()});
  if (k == 1 || options_.tau == 0) return {products.connect(loss), {}};
  const SlopedValue spread = spread_of(products.ends());
  loss.value = loss.value + spread.value;
  return {products.connect(loss, spread.slope), {}};
}

SlopedValue SoftTriple::cross_entropy(const Tensor& soft,
                                      const Tensor& labels) const {
  const Tensor own = labels.unsqueeze(1);
  const Tensor margin =
      torch::full({1, 1}, -options_.delta, soft.options()).expand_as(own);
  SlopedValue loss =
      mean_cross_entropy(soft.scatter_add(1, own, margin).mul_(options_.lambda),
                         labels, options_.label_smoothing);
  loss.slope.mul_(options_.lambda);
  return loss;
}

SlopedValue SoftTriple::spread_of(const Tensor& w) const {
  const int64_t k = options_.centers;
  const double weight =
      options_.tau / static_cast<double>(classes() * k * (k - 1));
  const Tensor of_class = w.view({k, classes(), -1}).transpose(0, 1);
  const Tensor cosine = torch::bmm(of_class, of_class.transpose(1, 2));
  const Tensor distance = (2 - 2 * cosine).clamp_min_(0).sqrt_();  // [C, K, K]
  distance.diagonal(0, 1, 2).zero_();
  // Each pair stands there twice. d distance / d cosine = -1 / distance
  const Tensor value = distance.sum() * (weight / 2);
  const Tensor pull = (-weight / distance).masked_fill_(distance == 0, 0);
  const Tensor slope = torch::bmm(pull, of_class).transpose(0, 1);
  return {value, slope.reshape({k * classes(), -1})};
}

KITH_REGISTER(loss_registry(), "soft_triple", SoftTriple);

}  // namespace kith
