#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kith/data/corruption.h"
#include "kith/data/data_set.h"
#include "kith/data/input.h"
#include "kith/eval/evaluate.h"

namespace kith {

/// A corruption and the name of its draws: two of one kind need two names.
///
///     {"turned", std::make_shared<RotationCorruption>(
///                    RotationOptions{.max_degrees = 10})}
struct NamedCorruption {
  std::string name;
  std::shared_ptr<const Corruption> corruption;
};

/// Corruptions with their published settings, by their names; all there are if
/// none is named. ConfigError for an unknown one.
std::vector<NamedCorruption> published_corruptions(
    const std::vector<std::string>& names = {});

/// What corrupted images score.
struct CorruptedResult {
  std::string corruption;
  EvalResult result;
};

/// The mean of a metric, by its place in the results, over the corruptions.
double mean_of_corrupted(const std::vector<CorruptedResult>& corrupted,
                         size_t metric);

/// What EmbedOptions::change takes to embed corrupted images.
std::function<Image(const Image&, int64_t)> change_of(
    const NamedCorruption& corruption, uint64_t seed);

/// A few of the images as the network sees them: a row each, first as it is,
/// then with every corruption.
Image corruption_examples(const DataSet& data,
                          const std::vector<int64_t>& images,
                          const InputOptions& input,
                          const std::vector<NamedCorruption>& corruptions,
                          uint64_t seed);

}  // namespace kith
