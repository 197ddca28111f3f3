#include <cmath>

#include <torch/torch.h>

#include "kith/losses/hypergraph/class_distances.h"
#include "kith/losses/hypergraph/hgnn.h"
#include "kith/losses/hypergraph/hypergraph.h"
#include "kith/losses/hypergraph/parameters.h"
#include "kith/losses/loss.h"

namespace kith {
namespace {

struct HistOptions {
  double tau = 32;
  double alpha = 0.9;
  double lambda_s = 1;
  int64_t hidden = 512;
  double lr_distributions = 0.1;
  double lr_hgnn = 1e-3;
  bool decay = true;
  std::string ablation = "none";

  void describe(OptionSet& set) {
    set.add("tau", tau, "Scale of the distances in the loss of distributions.")
        .positive();
    set.add("alpha", alpha,
            "How fast the part of an example in the tuple of another class "
            "falls with its distance; 0: all belong to all.")
        .range(0);
    set.add("lambda_s", lambda_s, "Weight of the network's cross entropy.")
        .range(0);
    set.add("hidden", hidden, "Width of the network's hidden layer.")
        .range(1, 1 << 20);
    set.add("lr_distributions", lr_distributions,
            "Learning rate of means and variances; 0: the optimiser's.")
        .range(0);
    set.add("lr_hgnn", lr_hgnn,
            "Learning rate of the network's layers; 0: the optimiser's.")
        .range(0);
    set.add("decay", decay,
            "The optimiser's weight decay holds for all of them too, as in the "
            "published code.");
    set.add("ablation", ablation,
            "What is left out or replaced, as in the paper's ablations. "
            "baseline: each example is classified alone; attention: examples "
            "exchange by attention instead of hyperedges; positives: a tuple "
            "holds only its class; no_distribution_loss; proxies: all "
            "variances are 1.")
        .choices({"none", "baseline", "attention", "positives",
                  "no_distribution_loss", "proxies"});
  }
};

/// Hypergraph-induced semantic tuple loss (Lim et al., CVPR 2022) on the
/// embeddings z as the head's LayerNorm leaves them.
///
///     m_ic = sum_f (x_if - mu_cf)^2 / exp(v_cf)
///     L_D  = mean_i -log softmax_c(-tau m_ic)[y_i]
///     H_ic = 1 if y_i = c, else exp(-alpha m_ic), c a class of the batch
///     G    = Dv^-1/2 H De^-1 H^T Dv^-1/2
///     Z1   = LeakyReLU_0.1(BatchNorm(G Theta1 z))
///     L_CE = mean_i -log softmax_c(G Theta2 Z1)[y_i]
///     loss = L_D + lambda_s L_CE
///
/// x = z / |z|, mu = means / |means|, v = log_vars clamped to [0, 6], Dv and De
/// the sums of the rows and columns of H, and c of L_D and L_CE all classes.
///
/// Ablations (Tables 4 and 5 of the supplement, which names them only; this is
/// how they are read here):
/// - baseline, "single classification": G is the identity, so that the same
///   layers classify each example alone.
/// - attention, "transformer-like": G = softmax_j(z_i.z_j / sqrt(D)).
/// - positives: H_ic = 1 if y_i = c, else 0.
/// - no_distribution_loss: without L_D; means and variances learn through H.
/// - proxies: v = 0, one proxy a class in place of a distribution.
/// In the first three nothing uses the distributions: they are not there, nor
/// is L_D.
class HistLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "HIST: class distributions and a hypergraph network (Lim et al., 2022)";
  static constexpr PartFacts kFacts = {
      .formula =
          "m_ic = sum_f (x_if - mu_cf)^2 / exp(v_cf)\n"
          "L_D  = mean_i -log softmax_c(-tau m_ic)[y_i]\n"
          "H_ic = 1 if y_i = c, else exp(-alpha m_ic), c a class of the batch\n"
          "G    = Dv^-1/2 H De^-1 H^T Dv^-1/2, Dv and De row and column sums\n"
          "Z1   = LeakyReLU_0.1(BatchNorm(G Theta1 z))\n"
          "L_CE = mean_i -log softmax_c(G Theta2 Z1)[y_i]\n"
          "loss = L_D + lambda_s L_CE\n"
          "z: embeddings, x = z / |z|, mu: unit means, v: log-variances "
          "clamped to [0, 6]",
      .source = "Lim et al., CVPR 2022",
      .cost =
          "O(M C (D + H + B)) time, O(M (C + D + H) + C (D + H)) memory for C "
          "classes, B of them in the batch, and H hidden units",
      .golden = "hist"};
  using Options = HistOptions;

  HistLoss(Options options, const LossContext& context)
      : options_(std::move(options)) {
    const HistParameters made = make_hist_parameters(
        context, options_.hidden, has_means(), has_variances());
    sizes_ = made.sizes;
    for (const auto& [name, tensor] : made.tensors) {
      register_parameter(name, tensor);
    }
  }

  bool wants_unit() const override { return false; }
  bool needs_positives() const override { return false; }
  int64_t classes() const override { return sizes_.classes; }

  double parameter_lr(const std::string& name) const override {
    return name == "means" || name == "log_vars" ? options_.lr_distributions
                                                 : options_.lr_hgnn;
  }

  bool decays_parameters() const override { return options_.decay; }

  LossOutput forward(const LossInput& input) const override {
    const Tensor& z = input.embeddings;
    TORCH_CHECK_VALUE(z.size(1) == sizes_.dim, "hist has parameters for ",
                      sizes_.dim, " dimensions, but the embeddings have ",
                      z.size(1));
    if (z.size(0) == 0) return {z.sum() * 0, {}};
    if (is("baseline")) {
      return {classify(input, [](const Tensor& y) { return y; }), {}};
    }
    if (is("attention")) return {with_attention(input), {}};
    return with_tuples(input);
  }

 private:
  using Spread = std::function<Tensor(const Tensor&)>;

  bool is(const char* ablation) const { return options_.ablation == ablation; }
  bool has_means() const {
    return is("none") || is("proxies") || is("no_distribution_loss");
  }
  bool has_variances() const { return has_means() && !is("proxies"); }

  /// A parameter as the embeddings are; undefined if there is none.
  Tensor parameter(const char* name, const Tensor& like) const {
    const Tensor* value = parameters_.find(name);
    return value == nullptr ? Tensor() : value->to(like.options());
  }

  /// lambda_s L_CE, where `spread` multiplies by G.
  Tensor classify(const LossInput& input, const Spread& spread) const {
    const Tensor& z = input.embeddings;
    const Hgnn network = {
        parameter("theta1_weight", z), parameter("theta1_bias", z),
        parameter("bn1_weight", z),    parameter("bn1_bias", z),
        parameter("theta2_weight", z), parameter("theta2_bias", z)};
    return options_.lambda_s *
           torch::cross_entropy_loss(network.classify(z, spread), input.labels);
  }

  Tensor with_attention(const LossInput& input) const {
    const Tensor& z = input.embeddings;
    const double scale = 1 / std::sqrt(static_cast<double>(z.size(1)));
    const Tensor weights = torch::mm(z * scale, z.t()).softmax(1);  // [M, M]
    return classify(input,
                    [&](const Tensor& y) { return torch::mm(weights, y); });
  }

  LossOutput with_tuples(const LossInput& input) const {
    const Tensor& z = input.embeddings;
    const Tensor classes = classes_in(input.labels);
    Tensor distances;  // [M, C]
    if (has_means()) {
      distances =
          class_distances(z, parameter("means", z), parameter("log_vars", z));
    }
    const Tensor incidence =
        has_means()
            ? semantic_tuples(distances, input.labels, classes, options_.alpha)
            : membership(input.labels, classes).to(z.scalar_type());
    const Hypergraph graph(incidence);
    Tensor value =
        classify(input, [&](const Tensor& y) { return graph.spread(y); });
    if (is("none") || is("proxies")) {
      value = value + torch::cross_entropy_loss(distances * -options_.tau,
                                                input.labels);
    }
    return {value, {{"classes", static_cast<double>(classes.size(0))}}};
  }

  Options options_;
  HistSizes sizes_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "hist", HistLoss);

}  // namespace kith
