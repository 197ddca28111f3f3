#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

struct NtXentOptions {
  double temperature = 0.07;
  MixedRowOptions rows = {};

  void describe(OptionSet& set);
};

/// Normalised temperature-scaled cross entropy over labelled pairs, as
/// pytorch-metric-learning computes it.
///
///     l(a,p) = -log(e^{s_ap/t} / (e^{s_ap/t} + sum_{n in N_a} e^{s_an/t}))
///
/// Mean over all ordered pairs of positives.
class NtXent final : public LossOnRows {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = NtXentOptions;

  explicit NtXent(const Options& options = {});
};

}  // namespace kith
