#include "kith/samplers/classes.h"

#include <algorithm>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/options.h"

namespace kith {

std::map<int64_t, std::vector<int64_t>> images_by_label(
    const std::vector<int64_t>& images, const std::vector<int64_t>& labels) {
  if (images.size() != labels.size()) {
    throw ConfigError("a sampler needs a label for each image, but there are " +
                      std::to_string(images.size()) + " images and " +
                      std::to_string(labels.size()) + " labels");
  }
  std::map<int64_t, std::vector<int64_t>> by_label;
  for (size_t i = 0; i < images.size(); ++i) {
    by_label[labels[i]].push_back(images[i]);
  }
  return by_label;
}

ClassImages images_by_class(const std::vector<int64_t>& images,
                            const std::vector<int64_t>& labels) {
  ClassImages classes;
  for (auto& [label, members] : images_by_label(images, labels)) {
    classes.push_back(std::move(members));
  }
  return classes;
}

std::string name_classes(const std::vector<int64_t>& labels,
                         const SamplerInput& input) {
  constexpr size_t kNamed = 100;
  std::map<int64_t, int64_t> sizes;
  for (const int64_t label : input.labels) ++sizes[label];
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(labels.size(), kNamed); ++i) {
    names.push_back(input.class_name(labels[i]) + " (" +
                    std::to_string(sizes[labels[i]]) + ")");
  }
  if (labels.size() > kNamed) names.emplace_back("...");
  return join(names);
}

int64_t count_full_batches(int64_t images, int64_t batch,
                           const std::string& sampler) {
  if (images < batch) {
    throw ConfigError("'" + sampler + ".batch' (" + std::to_string(batch) +
                      ") is larger than the training set (" +
                      std::to_string(images) + " images); use a smaller value");
  }
  return images / batch;
}

void check_multiple(int64_t batch, int64_t per_class,
                    const std::string& sampler) {
  if (batch % per_class != 0) {
    throw ConfigError("'" + sampler + ".batch' (" + std::to_string(batch) +
                      ") must be a multiple of '" + sampler + ".per_class' (" +
                      std::to_string(per_class) + ")");
  }
}

void note_repeats(const ClassImages& classes, int64_t per_class) {
  const auto small = std::count_if(
      classes.begin(), classes.end(), [per_class](const auto& members) {
        return static_cast<int64_t>(members.size()) < per_class;
      });
  if (small == 0) return;
  log_info(std::to_string(small) +
           " classes have fewer than sampler.per_class = " +
           std::to_string(per_class) + " images: these repeat within a batch");
}

int64_t ClassDraw::draw(size_t c, Rng& rng) {
  const std::vector<int64_t>& members = (*classes_)[c];
  std::vector<size_t>& drawn = drawn_[c];
  if (drawn.size() == members.size()) drawn.clear();
  // The number of a place among those not drawn becomes its position.
  auto position = static_cast<size_t>(rng.below(members.size() - drawn.size()));
  auto next = drawn.begin();
  for (; next != drawn.end() && *next <= position; ++next) ++position;
  drawn.insert(next, position);
  return members[position];
}

void ClassDraw::take(size_t c, int64_t image) {
  const std::vector<int64_t>& members = (*classes_)[c];
  const auto found = std::find(members.begin(), members.end(), image);
  KITH_ASSERT(found != members.end());
  const auto position = static_cast<size_t>(found - members.begin());
  std::vector<size_t>& drawn = drawn_[c];
  drawn.insert(std::lower_bound(drawn.begin(), drawn.end(), position),
               position);
}

ImageRow::ImageRow(ClassImages classes, Rng& rng) {
  rng.shuffle(classes);
  for (std::vector<int64_t>& members : classes) {
    rng.shuffle(members);
    images_.insert(images_.end(), members.begin(), members.end());
  }
}

void ImageRow::take(size_t count, std::vector<int64_t>& batch) {
  KITH_ASSERT(count <= images_.size());
  for (size_t i = 0; i < count; ++i) {
    batch.push_back(images_[next_]);
    next_ = next_ + 1 == images_.size() ? 0 : next_ + 1;
  }
}

}  // namespace kith
