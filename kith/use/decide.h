#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kith/eval/decision.h"
#include "kith/index/index_info.h"

namespace kith {

/// A threshold that is wanted with an evaluation.
struct ThresholdOptions {
  /// See ThresholdWish::parse; empty: none is wanted.
  std::string wish = {};
  /// The classes that the open set's gallery does not have: a share from 0 to 1
  /// of them, or a file with the name of a class, or its label, a line.
  std::string unknown_classes = "0.5";
};

/// `names` of classes by label; null: there are labels only. ConfigError or
/// DataError for what cannot be.
DecisionOptions decision_options(
    const ThresholdOptions& options, const EvaluateOptions& scoring,
    const std::map<int64_t, std::string>* names = nullptr);

/// The threshold that a text means for the vectors of an index: a similarity
/// from -1 to 1, or a threshold.json. Nothing for an empty text. `whose` is the
/// index, for messages. DataError if the file is of other weights, or other
/// descriptors of images, than the vectors.
std::optional<IndexThreshold> threshold_for(const std::string& text,
                                            const std::string& model_hash,
                                            const std::string& whose);

}  // namespace kith
