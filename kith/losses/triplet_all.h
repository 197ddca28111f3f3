#pragma once

#include <string>

#include "kith/losses/row_loss.h"

namespace kith {

struct TripletAllOptions {
  double margin = 0.05;
  std::string reduction = "active";  ///< Or "all": what the mean goes over.
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Triplet loss (Weinberger & Saul, JMLR 2009; Schroff, Kalenichenko & Philbin,
/// CVPR 2015) over all triplets of the batch, as pytorch-metric-learning
/// computes it; `triplet` takes mined tuples.
///
///     l(a,p,n) = [D_ap - D_an + margin]+
///
/// Mean over the triplets with a term above zero. D is the Euclidean distance.
/// M |P| M hinges on the row engine.
class TripletAll final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = TripletAllOptions;

  explicit TripletAll(const Options& options = {});
};

}  // namespace kith
