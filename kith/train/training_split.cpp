#include "kith/train/training_split.h"

namespace kith {

TrainingSplit::TrainingSplit(const ImageList& list)
    : list_(list), images_(list.of_split(Split::kTrain)) {
  for (int64_t label : list.labels(images_)) numbers_[label] = 0;
  int64_t number = 0;
  for (auto& entry : numbers_) entry.second = number++;
}

std::vector<int64_t> TrainingSplit::class_numbers(
    const std::vector<int64_t>& images) const {
  std::vector<int64_t> numbers = list_.labels(images);
  for (int64_t& label : numbers) label = numbers_.at(label);
  return numbers;
}

SamplerInput TrainingSplit::sampler_input(uint64_t seed) const {
  SamplerInput input{images_, list_.labels(images_), seed};
  input.class_names = list_.class_names;
  for (int64_t image : images_) {
    input.categories.push_back(
        list_.items[static_cast<size_t>(image)].category);
  }
  return input;
}

}  // namespace kith
