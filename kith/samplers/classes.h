#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "kith/core/rng.h"
#include "kith/samplers/sampler.h"

namespace kith {

/// Images by class.
using ClassImages = std::vector<std::vector<int64_t>>;

/// Groups images by their labels; ConfigError if there are not as many.
std::map<int64_t, std::vector<int64_t>> images_by_label(
    const std::vector<int64_t>& images, const std::vector<int64_t>& labels);

/// The same without the labels, in ascending order of these.
ClassImages images_by_class(const std::vector<int64_t>& images,
                            const std::vector<int64_t>& labels);

/// "'cat' (3), 'dog' (1)": the first hundred classes by name and number of
/// images.
std::string name_classes(const std::vector<int64_t>& labels,
                         const SamplerInput& input);

/// The full batches that `images` images make. Throws ConfigError when there
/// is not even one, by the name of the sampler.
int64_t count_full_batches(int64_t images, int64_t batch,
                           const std::string& sampler);

/// Throws ConfigError unless a batch is made of whole groups of class mates.
void check_multiple(int64_t batch, int64_t per_class,
                    const std::string& sampler);

/// Says how many classes have fewer than `per_class` images: a sampler that
/// draws with replacement repeats those within a batch.
void note_repeats(const ClassImages& classes, int64_t per_class);

/// Draws images of classes for one batch: no image comes twice while its class
/// has others. Refers to `classes`, which must outlive it.
class ClassDraw {
 public:
  explicit ClassDraw(const ClassImages& classes) : classes_(&classes) {}

  /// An image of class c, uniformly of those that have not been drawn; of all
  /// once more where all have been.
  int64_t draw(size_t c, Rng& rng);

  /// Counts an image of class c as drawn.
  void take(size_t c, int64_t image);

 private:
  const ClassImages* classes_;
  /// Positions drawn, ascending, by class.
  std::unordered_map<size_t, std::vector<size_t>> drawn_;
};

/// The images of classes in a row: classes in random order, the images of each
/// side by side in random order. Batches are cut from it one after another, so
/// a batch holds whole classes but for those at its two ends, and every image
/// is used before one repeats.
class ImageRow {
 public:
  ImageRow(ClassImages classes, Rng& rng);

  /// Adds the next `count` images to `batch`, going round: a class cut by the
  /// end of a batch goes on in the next. `count` is at most size(), so that no
  /// image comes twice.
  void take(size_t count, std::vector<int64_t>& batch);

  size_t size() const { return images_.size(); }

 private:
  std::vector<int64_t> images_;
  size_t next_ = 0;
};

}  // namespace kith
