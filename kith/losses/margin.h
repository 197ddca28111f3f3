#pragma once

#include <string>
#include <vector>

#include "kith/losses/margin_beta.h"

namespace kith {

struct MarginOptions {
  double margin = 0.2;  ///< Between the boundary and distances.
  double beta = 1.2;    ///< The boundary, or its first value.
  bool beta_per_class = false;
  bool learn = true;            ///< Or beta is a constant.
  double lr = 5e-4;             ///< Of beta; 0: the optimiser's.
  bool decay = false;           ///< The optimiser's, of beta too.
  double nu = 0;                ///< Weight of a learnt beta in the loss.
  std::string count = "pairs";  ///< Or "triplets", for the mean.

  void describe(OptionSet& set);
};

/// Margin loss (Wu et al., ICCV 2017) on given triplets; `margin_all` takes all
/// of the batch.
///
///     l(a,p) = [D_ap - beta + margin]+
///     l(a,n) = [beta - D_an + margin]+
///     loss = sum / number of pairs with a term above zero
///
/// beta is learnt, one for all or one for each class of the anchor. D is the
/// Euclidean distance. Columns are used as they are given; labels only choose
/// beta. O(T D) time.
class Margin final : public LossWithBeta {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  static constexpr LossTraits kTraits = {.miner = "distance_weighted"};
  using Options = MarginOptions;

  explicit Margin(Options options = {}, const LossContext& context = {});

  std::vector<int64_t> tuple_widths() const override { return {3}; }

 protected:
  LossOutput forward(const LossInput& input) const override;

 private:
  Tensor beta_of_anchors(const LossInput& input) const;

  Options options_;
};

}  // namespace kith
