#pragma once

#include <vector>

#include "kith/train/optimizer.h"

namespace kith {

struct SgdOptions {
  double lr = 0.1;
  double weight_decay = 0.0;
  GroupOptions groups = {};
  double momentum = 0.9;
  bool nesterov = false;

  void describe(OptionSet& set);
};

/// v = momentum v + g, where weight decay is part of g; the parameter goes back
/// by lr v (or, Nesterov's, by lr (g + momentum v)). v starts at zero, so the
/// first step is plain.
class SgdOptimizer final : public Optimizer {
 public:
  static constexpr const char* kSummary =
      "stochastic gradient descent with momentum";
  using Options = SgdOptions;

  SgdOptimizer(Options options, const NamedTensors& parameters);

 protected:
  void update(const ParameterGroup& group) override;

 private:
  void update_lists(const ParameterGroup& group);

  Options options_;
  std::vector<Tensor> velocity_;
};

struct AdamOptions {
  double lr = 1e-3;
  double weight_decay = 0.0;
  GroupOptions groups = {};
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;

  void describe(OptionSet& set);
};

/// Adam (Kingma & Ba, 2015). Weight decay is added to the gradient. The
/// correction of a mean's start at zero counts a parameter's own steps.
class AdamOptimizer : public Optimizer {
 public:
  static constexpr const char* kSummary = "Adam (Kingma & Ba, 2015)";
  using Options = AdamOptions;

  AdamOptimizer(Options options, const NamedTensors& parameters);

 protected:
  /// With `decoupled` weight decay is taken from the parameter instead.
  AdamOptimizer(const Options& options, const NamedTensors& parameters,
                bool decoupled);

  void update(const ParameterGroup& group) override;

 private:
  void update_lists(const ParameterGroup& group, double mean_bias,
                    double square_bias);

  Options options_;
  bool decoupled_;
  std::vector<Tensor> mean_;    ///< Running mean of the gradient.
  std::vector<Tensor> square_;  ///< Running mean of its square.
};

struct AdamWOptions {
  double lr = 1e-3;
  double weight_decay = 0.01;
  GroupOptions groups = {};
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;

  void describe(OptionSet& set);
};

/// Adam with decoupled weight decay (Loshchilov & Hutter, 2019).
class AdamWOptimizer final : public AdamOptimizer {
 public:
  static constexpr const char* kSummary =
      "Adam with decoupled weight decay (Loshchilov & Hutter, 2019)";
  using Options = AdamWOptions;

  AdamWOptimizer(const Options& options, const NamedTensors& parameters);
};

}  // namespace kith
