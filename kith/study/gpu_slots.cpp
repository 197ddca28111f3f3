#include "kith/study/gpu_slots.h"

#include <sstream>

namespace kith {

std::vector<std::string> visible_gpus(const std::optional<std::string>& list,
                                      int64_t count) {
  std::vector<std::string> names;
  if (list) {
    std::istringstream words(*list);
    for (std::string word; std::getline(words, word, ',');) {
      // From a name on that is no GPU's, none are seen.
      if (std::ssize(names) < count) names.push_back(word);
    }
  }
  if (std::ssize(names) == count) return names;
  names.clear();
  for (int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

std::vector<std::string> gpu_slots(const std::vector<std::string>& gpus,
                                   int64_t jobs, int64_t each) {
  const int64_t count = std::ssize(gpus);
  if (each >= count) return {};
  std::vector<std::string> slots;
  for (int64_t job = 0; job < jobs; ++job) {
    std::string& slot = slots.emplace_back();
    for (int64_t i = 0; i < each; ++i) {
      const auto place = static_cast<size_t>((job * each + i) % count);
      slot += (i == 0 ? "" : ",") + gpus[place];
    }
  }
  return slots;
}

}  // namespace kith
