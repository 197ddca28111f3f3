#pragma once

#include <functional>
#include <string>

#include "kith/losses/loss.h"

namespace kith {

struct HistOptions {
  double tau = 32;       ///< Scale of the distances in L_D.
  double alpha = 0.9;    ///< How fast semantic tuples fade with distance.
  double lambda_s = 1;   ///< Weight of L_CE.
  int64_t hidden = 512;  ///< Width of the network's hidden layer.
  double lr_distributions = 0.1;  ///< Of means and variances.
  double lr_hgnn = 1e-3;          ///< Of the network's layers.
  bool decay = true;  ///< The optimiser's weight decay holds for all too.
  std::string ablation = "none";

  void describe(OptionSet& set);
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
class Hist final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = HistOptions;

  Hist(Options options, const LossContext& context);

  bool wants_unit() const override { return false; }
  bool needs_positives() const override { return false; }
  int64_t classes() const override { return classes_; }
  double parameter_lr(const std::string& name) const override;
  bool decays_parameters() const override { return options_.decay; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  using Spread = std::function<Tensor(const Tensor&)>;

  bool is(const char* ablation) const { return options_.ablation == ablation; }
  bool has_means() const;
  bool has_variances() const { return has_means() && !is("proxies"); }

  /// A parameter as the embeddings are; undefined if there is none.
  Tensor parameter(const char* name, const Tensor& like) const;

  /// lambda_s L_CE, where `spread` multiplies by G.
  Tensor classify(const LossInput& input, const Spread& spread) const;
  Tensor with_attention(const LossInput& input) const;
  LossOutput with_tuples(const LossInput& input) const;

  Options options_;
  int64_t classes_ = 0;
  int64_t dim_ = 0;
};

}  // namespace kith
