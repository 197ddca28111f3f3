#pragma once

#include <string>
#include <vector>

#include "kith/losses/row_loss.h"

namespace kith {

struct NpairOptions {
  double l2 = 0.005;                     ///< Weight of the embeddings' norms.
  std::string penalty = "squared_norm";  ///< Or "norm".
  RowOptions rows = {};

  void describe(OptionSet& set);
};

/// N-pair loss (Sohn, NeurIPS 2016) on the embeddings as they are.
///
///     l(a,p) = log(1 + sum_{n in N_a} e^{e_a.e_n - e_a.e_p})
///     loss = mean over tuples of l(a,p) + l2 * mean |e|^2
///
/// One positive an anchor comes with the tuples (a, p, ...); without tuples
/// each anchor takes the next example of its class in the batch.
class Npair final : public Loss {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = NpairOptions;

  explicit Npair(Options options = {});

  std::vector<int64_t> tuple_widths() const override { return {2, 3}; }
  bool wants_unit() const override { return false; }
  bool depends_on_order() const override { return true; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Options options_;
};

}  // namespace kith
