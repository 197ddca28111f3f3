#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kith/samplers/sampler.h"

namespace kith {

using Batches = std::vector<std::vector<int64_t>>;

/// The sampler of "{name: spc, batch: 8}".
inline std::unique_ptr<Sampler> make_sampler(const std::string& config,
                                             const SamplerInput& input) {
  return sampler_registry().make(parse_config(config, "r.yaml"), "sampler",
                                 input);
}

/// Classes of these sizes, labelled 0, 10, 20, ...; positions start at 1000
/// and classes alternate.
inline SamplerInput classes_of(std::vector<int64_t> sizes, uint64_t seed = 0) {
  SamplerInput input;
  input.seed = seed;
  for (bool more = true; more;) {
    more = false;
    for (size_t c = 0; c < sizes.size(); ++c) {
      if (sizes[c]-- <= 0) continue;
      input.indices.push_back(1000 +
                              static_cast<int64_t>(input.indices.size()));
      input.labels.push_back(static_cast<int64_t>(c) * 10);
      more = true;
    }
  }
  return input;
}

/// Label by position.
inline std::map<int64_t, int64_t> labels_of(const SamplerInput& input) {
  std::map<int64_t, int64_t> labels;
  for (size_t i = 0; i < input.indices.size(); ++i) {
    labels[input.indices[i]] = input.labels[i];
  }
  return labels;
}

/// How often each label is in a batch; `labels` is by position.
inline std::map<int64_t, int64_t> count_labels(
    const std::vector<int64_t>& batch,
    const std::map<int64_t, int64_t>& labels) {
  std::map<int64_t, int64_t> counts;
  for (const int64_t image : batch) ++counts[labels.at(image)];
  return counts;
}

inline bool has_repeats(const std::vector<int64_t>& batch) {
  return std::set<int64_t>(batch.begin(), batch.end()).size() != batch.size();
}

/// How often each image is in the batches.
inline std::map<int64_t, int64_t> count_images(const Batches& batches) {
  std::map<int64_t, int64_t> counts;
  for (const std::vector<int64_t>& batch : batches) {
    for (const int64_t image : batch) ++counts[image];
  }
  return counts;
}

}  // namespace kith
