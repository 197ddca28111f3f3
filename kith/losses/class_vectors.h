#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/losses/loss.h"

namespace kith {

/// Refuses (c10::ValueError) a tensor of LossContext::given whose name is none
/// of `names`, those of the loss's parameters.
void check_given(const LossContext& context,
                 const std::vector<std::string>& names);

/// How class vectors start, for C classes with K vectors of D numbers each. A
/// loss uses their directions alone: the size matters to the optimiser only,
/// which turns a longer vector more slowly.
enum class ClassInit {
  kUniformDim,    ///< U(-b, b), b = 1 / sqrt(D), as linear layers.
  kUniformCount,  ///< U(-b, b), b = 1 / sqrt(C K).
  kNormalEighth,  ///< N(0, 1 / 64).
  kHeCount,       ///< N(0, 2 / (C K)): He's, by the number of outputs.
};

/// A scalar and its slope in the products that it is a function of.
struct SlopedValue {
  Tensor value;
  Tensor slope;  ///< [M, K C]
};

/// Products of a batch and class vectors, outside of autograd: a loss computes
/// its value and its slope in one go, which takes half the operators.
class ClassProducts {
 public:
  /// x [M, D] and w [K C, D], of one type; both as autograd knows them.
  ClassProducts(Tensor x, Tensor w, double scale);

  /// [M, K C]: scale x.w / |w|.
  const Tensor& values() const { return values_; }

  /// [K C, D]: scale w / |w|. A vector of zeros stays zero.
  const Tensor& ends() const { return ends_; }

  /// The value as a differentiable function of x and w. `of_ends` is the slope
  /// of what depends on ends() beside the products, [K C, D] or undefined.
  Tensor connect(const SlopedValue& loss, const Tensor& of_ends = {}) const;

 private:
  Tensor x_;
  Tensor w_;
  double scale_;
  Tensor factor_;  ///< [K C, 1]: scale / |w|
  Tensor ends_;
  Tensor values_;
};

/// The vectors w_c that a loss learns for classes, one each or K: its only
/// parameter, "proxies" [C, D] or [C, K, D] float32.
///
/// LossContext::given may hold it instead, also under the names and in the
/// layouts of other codes: "proxies" and "class_map" [C, D], "W", "fc",
/// "weight" and "centroids" [D, C K] with column c K + k. The tensor itself
/// becomes the parameter, so its gradient has its name and layout.
class ClassVectors {
 public:
  /// c10::ValueError if the context neither has vectors nor says how many
  /// classes there are, or if those given do not fit.
  ClassVectors(const LossContext& context, ClassInit init,
               int64_t per_class = 1);

  int64_t classes() const { return classes_; }
  /// Of the parameter, and itself: a leaf that wants a gradient.
  const std::string& name() const { return name_; }
  const Tensor& values() const { return values_; }

  /// Of embeddings [M, D] in their type; column k C + c belongs to vector k of
  /// class c. Scaling here is cheaper than scaling the products.
  ClassProducts products(const Tensor& x, double scale = 1) const;

 private:
  void take(const LossContext& context);
  void draw(const LossContext& context, ClassInit init);

  std::string name_ = "proxies";
  Tensor values_;         ///< As given or drawn; a leaf.
  bool columns_ = false;  ///< Whether it is [D, C K].
  int64_t per_class_;
  int64_t classes_ = 0;
  int64_t dim_ = 0;
};

/// How the optimiser treats class vectors: options of every loss that has them.
/// Losses have their own defaults, so set both or none.
struct VectorTraining {
  double lr = 0;       ///< 0: the optimiser's.
  bool decay = false;  ///< The optimiser's weight decay holds for them too.

  /// `note` is where the default of `lr` is from.
  void describe(OptionSet& set, const std::string& note = "");
};

/// A loss whose only parameters are class vectors.
class ClassVectorLoss : public Loss {
 public:
  double parameter_lr(const std::string& /*name*/) const override {
    return training_.lr;
  }
  bool decays_parameters() const override { return training_.decay; }
  int64_t classes() const override { return vectors_.classes(); }
  bool needs_positives() const override { return false; }

 protected:
  ClassVectorLoss(ClassVectors vectors, const VectorTraining& training)
      : vectors_(std::move(vectors)), training_(training) {
    register_parameter(vectors_.name(), vectors_.values());
  }

  const ClassVectors& vectors() const { return vectors_; }

 private:
  ClassVectors vectors_;
  VectorTraining training_;
};

/// Mean over the rows of -sum_c q_c log softmax(logits)[c]; zero for no rows.
/// With label smoothing e of C classes q_c = (1 - e) [c = label] + e / C
/// (Szegedy et al., CVPR 2016).
SlopedValue mean_cross_entropy(const Tensor& logits, const Tensor& labels,
                               double label_smoothing = 0);

/// Describes that option, for the loss's own describe().
void describe_label_smoothing(OptionSet& set, double& label_smoothing);

}  // namespace kith
