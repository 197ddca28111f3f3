#include "kith/eval/corruption_suite.h"

#include "kith/core/draw.h"
#include "kith/image/picture_grid.h"

namespace kith {
namespace {

constexpr int64_t kShownImages = 4;
constexpr int kShownCell = 160;

}  // namespace

std::vector<NamedCorruption> published_corruptions(
    const std::vector<std::string>& names) {
  const CorruptionRegistry& registry = corruption_registry();
  std::vector<NamedCorruption> corruptions;
  for (const std::string& name : names.empty() ? registry.names() : names) {
    corruptions.push_back({name, registry.at(name, "option 'corruptions'")
                                     .make(ConfigNode::map(), name)});
  }
  return corruptions;
}

double mean_of_corrupted(const std::vector<CorruptedResult>& corrupted,
                         size_t metric) {
  double sum = 0;
  for (const CorruptedResult& one : corrupted) {
    sum += one.result.metrics[metric].value;
  }
  return sum / static_cast<double>(corrupted.size());
}

std::function<Image(const Image&, int64_t)> change_of(
    const NamedCorruption& corruption, uint64_t seed) {
  return [corruption, seed](const Image& image, int64_t index) {
    return corrupt(*corruption.corruption, corruption.name, image, seed, index);
  };
}

Image corruption_examples(const DataSet& data,
                          const std::vector<int64_t>& images,
                          const InputOptions& input,
                          const std::vector<NamedCorruption>& corruptions,
                          uint64_t seed) {
  Rng rng(seed, Stream::kReport);
  std::vector<std::vector<Image>> rows;
  for (const int64_t place :
       draw_distinct(std::ssize(images), kShownImages, rng)) {
    const int64_t index = images[static_cast<size_t>(place)];
    Rng unused(0, Stream::kAugment);
    const Image image = prepare_image(data.load(index), input, {}, unused);
    std::vector<Image> row = {image};
    for (const NamedCorruption& corruption : corruptions) {
      row.push_back(change_of(corruption, seed)(image, index));
    }
    rows.push_back(std::move(row));
  }
  return picture_grid(rows, kShownCell);
}

}  // namespace kith
