#include "kith/eval/matching_pairs.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_set>

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {
namespace {

using ImagePair = std::array<int64_t, 2>;

std::vector<ImagePair> named_pairs(const ImageList& list,
                                   const std::vector<int64_t>& candidates) {
  const std::unordered_set<int64_t> known(candidates.begin(), candidates.end());
  std::vector<ImagePair> pairs;
  for (const ImagePair& pair : list.pairs) {
    if (known.contains(pair[0]) && known.contains(pair[1])) {
      pairs.push_back(pair);
    }
  }
  return pairs;
}

/// Round each class, whose images are in random order.
std::vector<ImagePair> class_pairs(const ImageList& list,
                                   const std::vector<int64_t>& candidates,
                                   Rng& rng) {
  std::map<int64_t, std::vector<int64_t>> classes;
  for (const int64_t image : candidates) {
    classes[list.items.at(static_cast<size_t>(image)).label].push_back(image);
  }
  std::vector<ImagePair> pairs;
  for (auto& [label, images] : classes) {
    if (images.size() < 2) continue;
    rng.shuffle(images);
    for (size_t i = 0; i < images.size(); ++i) {
      pairs.push_back({images[i], images[(i + 1) % images.size()]});
    }
  }
  return pairs;
}

}  // namespace

MatchingPairs draw_matching_pairs(const ImageList& list,
                                  const std::vector<int64_t>& candidates,
                                  int64_t most_images, Rng& rng) {
  std::vector<ImagePair> pairs = list.pairs.empty()
                                     ? class_pairs(list, candidates, rng)
                                     : named_pairs(list, candidates);
  if (pairs.empty()) {
    throw DataError(
        "a whitening from pairs needs images that match, and no two of the " +
        std::to_string(candidates.size()) +
        " images do; give data with classes of two images or more, or learn "
        "it without pairs");
  }
  rng.shuffle(pairs);
  std::set<int64_t> chosen;
  size_t count = 0;
  while (count < pairs.size()) {
    const int64_t more =
        !chosen.contains(pairs[count][0]) + !chosen.contains(pairs[count][1]);
    if (std::ssize(chosen) + more > most_images) break;
    chosen.insert(pairs[count].begin(), pairs[count].end());
    ++count;
  }
  MatchingPairs drawn;
  drawn.images.assign(chosen.begin(), chosen.end());
  const auto place = [&](int64_t image) {
    return std::lower_bound(drawn.images.begin(), drawn.images.end(), image) -
           drawn.images.begin();
  };
  drawn.rows = torch::empty({static_cast<int64_t>(count), 2}, torch::kLong);
  auto* rows = drawn.rows.data_ptr<int64_t>();
  for (size_t i = 0; i < count; ++i) {
    rows[2 * i] = place(pairs[i][0]);
    rows[2 * i + 1] = place(pairs[i][1]);
  }
  return drawn;
}

}  // namespace kith
