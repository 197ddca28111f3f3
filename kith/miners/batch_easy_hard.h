#pragma once

#include <string>

#include "kith/miners/miner.h"

namespace kith {

struct BatchEasyHardMinerOptions {
  std::string positive = "easy";      ///< Or "semihard", "hard", "all".
  std::string negative = "semihard";  ///< Or "easy", "hard", "all".

  void describe(OptionSet& set);
};

/// For each anchor one pair of each sign, easy or hard or semi-hard beside the
/// other (Xuan, Stylianou & Pless, WACV 2020), as in pytorch-metric-learning:
/// anchors without one of the two are left out. Or all pairs of a sign; then
/// the signs are mined apart.
class BatchEasyHardMiner final : public Miner {
 public:
  static const char* const kSummary;
  static const PartFacts kFacts;
  using Options = BatchEasyHardMinerOptions;

  explicit BatchEasyHardMiner(Options options = {});

  int64_t width() const override { return 2; }

 protected:
  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override;

 private:
  bool nearest_positive() const;
  bool nearest_negative() const;

  /// A pair of each sign; restricts the masks of a semi-hard one.
  Tensor one_of_each(const Tensor& distances, Tensor positive,
                     Tensor negative) const;

  Options options_;
};

}  // namespace kith
