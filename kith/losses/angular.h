#pragma once

#include <string>
#include <vector>

#include "kith/losses/row_loss.h"

namespace kith {

struct AngularOptions {
  double alpha = 45;  ///< Largest angle at the negative, in degrees.
  double lambda = 2;  ///< Weight of the angular part.
  double l2 = 0.005;  ///< Weight of the embeddings' norms.
  std::string penalty = "squared_norm";  ///< Or "norm".
  RowOptions rows = {};

  void describe(OptionSet& set);
};

/// Angular loss (Wang, Zhou, Wen, Liu & Lin, ICCV 2017) with the N-pair loss
/// beside it, on embeddings e as they are; x = e / |e|, t = tan(alpha)^2.
///
///     l(a,p) = log(1 + sum_{n in N_a} e^{e_a.e_n - e_a.e_p})
///     g(a,p) = log(1 + sum_{n in N_a} e^{4 t (x_a + x_p).x_n
///                                        - 2 (1 + t) x_a.x_p})
///     loss = mean over tuples of l(a,p) + lambda g(a,p) + l2 * mean |e|^2
///
/// One positive an anchor comes with the tuples (a, p, ...); without tuples
/// each anchor takes the next example of its class in the batch.
class Angular final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = AngularOptions;

  explicit Angular(Options options = {});

  std::vector<int64_t> tuple_widths() const override { return {2, 3}; }
  bool wants_unit() const override { return false; }
  bool depends_on_order() const override { return true; }

 protected:
  LossOutput forward(const LossInput& given) const override;

 private:
  Options options_;
};

}  // namespace kith
