#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kith/data/image_list.h"
#include "kith/samplers/sampler.h"

namespace kith {

/// The images that are trained on, and their classes numbered from 0 in the
/// order of their labels: losses that learn something for each class count on
/// that.
class TrainingSplit {
 public:
  explicit TrainingSplit(const ImageList& list);

  /// Positions in the list.
  const std::vector<int64_t>& images() const { return images_; }

  /// How many there are.
  int64_t classes() const { return static_cast<int64_t>(numbers_.size()); }

  /// The numbers of the classes of these images.
  std::vector<int64_t> class_numbers(const std::vector<int64_t>& images) const;

  SamplerInput sampler_input(uint64_t seed) const;

 private:
  const ImageList& list_;
  std::vector<int64_t> images_;
  std::map<int64_t, int64_t> numbers_;  ///< Of the labels.
};

}  // namespace kith
