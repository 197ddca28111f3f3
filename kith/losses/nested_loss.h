#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kith/losses/loss.h"

namespace kith {

/// Which beginnings of an embedding are to serve by themselves.
struct NestedSizes {
  std::vector<int64_t> sizes;        ///< Rising; the last is the whole.
  std::vector<double> weights = {};  ///< One a size; empty: 1 each.
  bool unit = true;  ///< Each is made a unit vector, as the whole is.
};

/// Matryoshka representation learning (Kusupati et al., NeurIPS 2022): a loss
/// for each of several sizes, of the first so many numbers of the embeddings,
///
///     L(x) = c_D L_D(x) + sum_{d < D} c_d L_d(x[1..d] / |x[1..d]|)
///
/// so that an embedding may be cut to any of the sizes later; the whole is
/// taken as the head made it. Each size has a loss of its own with parameters
/// of its own, such as proxies, as published (MRL; the variant MRL-E would cut
/// those of the whole, which is not defined for losses that learn more than
/// vectors). They are its submodules "64", "128", ...: parameters are called
/// "64.proxies".
///
/// Tuples, virtual examples and the database are the same ones for all sizes.
/// Statistics are those of the whole.
class NestedLoss final : public Loss {
 public:
  using Make = std::function<std::shared_ptr<Loss>(const LossContext&)>;

  /// `make` gives the loss of a context, here one for each size in place of
  /// `context.dim`. ConfigError if it gives the same object, which has
  /// parameters, for two sizes.
  NestedLoss(NestedSizes sizes, const LossContext& context, const Make& make);

  /// That of a size, by its place.
  const Loss& at(size_t place) const { return *losses_.at(place); }

  bool wants_unit() const override { return whole().wants_unit(); }
  bool needs_positives() const override { return whole().needs_positives(); }
  std::vector<int64_t> tuple_widths() const override {
    return whole().tuple_widths();
  }
  bool gradient_is_derivative() const override {
    return whole().gradient_is_derivative();
  }
  bool depends_on_order() const override { return whole().depends_on_order(); }
  bool takes_mixed() const override { return whole().takes_mixed(); }
  double parameter_lr(const std::string& name) const override;
  bool decays_parameters() const override {
    return whole().decays_parameters();
  }
  int64_t classes() const override { return whole().classes(); }
  bool takes_database() const override { return whole().takes_database(); }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  const Loss& whole() const { return *losses_.back(); }
  Tensor first(const Tensor& rows, int64_t size) const;

  NestedSizes sizes_;
  std::vector<std::shared_ptr<Loss>> losses_;  ///< One a size.
};

}  // namespace kith
