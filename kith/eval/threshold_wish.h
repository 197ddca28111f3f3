#pragma once

#include <string>

namespace kith {

/// What a threshold of similarity is wanted for: a rate, or the threshold
/// itself.
struct ThresholdWish {
  enum class Kind {
    kFar,        ///< At most this share of pairs of two classes is accepted.
    kPrecision,  ///< At least this share of accepted first answers is right.
    kFpir,       ///< At most this share of searches without mate is accepted.
    kGiven,      ///< The threshold.
  };
  Kind kind = Kind::kFar;
  double value = 0.001;

  /// "far=0.001", "precision=0.95", "fpir=0.01" or a similarity, "0.62".
  /// ConfigError for anything else.
  static ThresholdWish parse(const std::string& text);
  std::string text() const;
  /// Whether a threshold is to be picked.
  bool is_rate() const { return kind != Kind::kGiven; }
  /// "the least at which at most 0.1% of the pairs of two classes are
  /// accepted"
  std::string meaning() const;
};

}  // namespace kith
