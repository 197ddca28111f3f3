#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kith/samplers/sampler.h"

namespace kith {

/// Images by class.
using ClassImages = std::vector<std::vector<int64_t>>;

/// Groups images by their labels.
std::map<int64_t, std::vector<int64_t>> images_by_label(
    const std::vector<int64_t>& images, const std::vector<int64_t>& labels);

/// The same without the labels, in ascending order of these.
ClassImages images_by_class(const std::vector<int64_t>& images,
                            const std::vector<int64_t>& labels);

/// "'cat' (3), 'dog' (1)": so many classes by name and number of images, the
/// first hundred.
std::string name_classes(const std::vector<int64_t>& labels,
                         const SamplerInput& input);

/// The full batches that `images` images make. Throws ConfigError when there
/// is not even one.
int64_t count_full_batches(int64_t images, int64_t batch);

/// Throws ConfigError unless a batch is made of whole groups of class mates.
void check_multiple(int64_t batch, int64_t per_class);

/// Says how many classes have fewer than `per_class` images: a sampler that
/// draws with replacement repeats those within a batch.
void note_repeats(const ClassImages& classes, int64_t per_class);

}  // namespace kith
