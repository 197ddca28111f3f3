#include "kith/data/image_list.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/options.h"

namespace kith {
namespace {

/// Leaves items out of the list; positions of the others follow them.
void erase_items(ImageList& list, const std::vector<bool>& leave_out) {
  constexpr int64_t kGone = -1;
  std::vector<int64_t> moved;
  int64_t kept = 0;
  for (const bool is_left_out : leave_out) {
    moved.push_back(is_left_out ? kGone : kept++);
  }
  const auto move = [&](int64_t position) {
    return moved[static_cast<size_t>(position)];
  };
  const auto move_all = [&](std::vector<int64_t>& positions) {
    std::transform(positions.begin(), positions.end(), positions.begin(), move);
    std::erase(positions, kGone);
  };
  for (QueryTruth& truth : list.truths) {
    truth.query = move(truth.query);
    for (auto* answers : {&truth.easy, &truth.hard, &truth.junk}) {
      move_all(*answers);
    }
  }
  std::erase_if(list.truths,
                [](const QueryTruth& truth) { return truth.query == kGone; });
  for (auto& entry : list.lists) move_all(entry.second);
  for (auto& pair : list.pairs) pair = {move(pair[0]), move(pair[1])};
  std::erase_if(list.pairs, [](const auto& pair) {
    return pair[0] == kGone || pair[1] == kGone;
  });
  for (size_t i = 0; i < list.items.size(); ++i) {
    const auto to = static_cast<size_t>(moved[i]);
    if (moved[i] != kGone && to != i) list.items[to] = std::move(list.items[i]);
  }
  list.items.resize(static_cast<size_t>(kept));
}

/// The class without rotations: a class and its rotations are labelled
/// 4 * label + turns.
int64_t upright(const Item& item) { return item.label - item.quarter_turns; }

/// The training classes of a list without a validation split of its own.
std::set<int64_t> classes_to_share(const ImageList& list) {
  std::set<int64_t> classes;
  for (const Item& item : list.items) {
    if (item.split == Split::kTrain) classes.insert(upright(item));
    if (item.split == Split::kValidation) {
      throw ConfigError("the data has a validation split of its own (" +
                        item.path + "); no classes can be held out beside it");
    }
  }
  return classes;
}

/// Makes training classes the validation split, without their rotations.
void hold_out(ImageList& list, const std::set<int64_t>& classes) {
  const auto held_out = [&](const Item& item) {
    return item.split == Split::kTrain && classes.count(upright(item)) != 0;
  };
  std::vector<bool> leave_out;
  for (const Item& item : list.items) {
    leave_out.push_back(held_out(item) && item.quarter_turns != 0);
  }
  erase_items(list, leave_out);
  for (Item& item : list.items) {
    if (held_out(item)) item.split = Split::kValidation;
  }
}

}  // namespace

const char* split_name(Split split) {
  switch (split) {
    case Split::kTrain:
      return "train";
    case Split::kTest:
      return "test";
    case Split::kValidation:
      return "validation";
  }
  return "";
}

Split parse_split(const std::string& text, const std::string& where) {
  if (text == "train") return Split::kTrain;
  if (text == "test") return Split::kTest;
  if (text == "validation" || text == "val") return Split::kValidation;
  throw DataError(
      unknown_message(where, "split", text, {"train", "test", "validation"}));
}

std::vector<int64_t> ImageList::of_split(Split split) const {
  std::vector<int64_t> indices;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].split == split) indices.push_back(static_cast<int64_t>(i));
  }
  return indices;
}

std::vector<int64_t> ImageList::labels(
    const std::vector<int64_t>& indices) const {
  std::vector<int64_t> labels;
  labels.reserve(indices.size());
  for (int64_t i : indices) {
    labels.push_back(items.at(static_cast<size_t>(i)).label);
  }
  return labels;
}

std::string ImageList::class_name(int64_t label) const {
  const auto found = class_names.find(label);
  return found == class_names.end() ? std::to_string(label) : found->second;
}

void label_by_name(ImageList& list, const std::vector<std::string>& names) {
  KITH_ASSERT(names.size() == list.items.size());
  std::vector<std::string> classes = names;
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  for (size_t i = 0; i < names.size(); ++i) {
    list.items[i].label =
        std::lower_bound(classes.begin(), classes.end(), names[i]) -
        classes.begin();
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    list.class_names[static_cast<int64_t>(i)] = classes[i];
  }
}

SplitSummary summarise(const ImageList& list, Split split) {
  std::map<int64_t, int64_t> counts;
  SplitSummary summary;
  summary.split = split;
  for (const Item& item : list.items) {
    if (item.split != split) continue;
    ++counts[item.label];
    ++summary.images;
  }
  summary.classes = static_cast<int64_t>(counts.size());
  if (counts.empty()) return summary;
  std::vector<int64_t> sizes;
  for (const auto& [label, count] : counts) {
    sizes.push_back(count);
    if (count == 1) summary.single_classes.push_back(label);
  }
  const auto [smallest, largest] = std::minmax_element(
      counts.begin(), counts.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  summary.smallest_class = smallest->first;
  // minmax_element finds the last of several that are largest.
  summary.largest_class =
      std::find_if(counts.begin(), counts.end(),
                   [most = largest->second](const auto& entry) {
                     return entry.second == most;
                   })
          ->first;
  std::sort(sizes.begin(), sizes.end());
  summary.min_per_class = sizes.front();
  summary.median_per_class = sizes[sizes.size() / 2];
  summary.max_per_class = sizes.back();
  return summary;
}

std::vector<int64_t> shared_classes(const ImageList& list) {
  std::set<int64_t> train;
  std::set<int64_t> shared;
  for (const Item& item : list.items) {
    if (item.split == Split::kTrain) train.insert(item.label);
  }
  for (const Item& item : list.items) {
    if (item.split != Split::kTrain && train.count(item.label)) {
      shared.insert(item.label);
    }
  }
  return {shared.begin(), shared.end()};
}

void leave_out_items(ImageList& list, const std::vector<int64_t>& positions) {
  std::vector<bool> leave_out(list.items.size());
  for (const int64_t position : positions) {
    leave_out.at(static_cast<size_t>(position)) = true;
  }
  erase_items(list, leave_out);
}

void add_rotated_classes(ImageList& list) {
  constexpr int64_t kTurns = 4;
  constexpr int64_t kMaxLabel = INT64_MAX / kTurns - 1;
  std::map<int64_t, std::string> names;
  for (const Item& item : list.items) {
    if (item.label > kMaxLabel || item.label < -kMaxLabel) {
      throw DataError(item.path + ": label " + std::to_string(item.label) +
                      " is too large to be multiplied by 4 for rotations");
    }
    names[item.label * kTurns] = list.class_name(item.label);
  }
  list.class_names = std::move(names);
  std::vector<Item> rotated;
  for (Item& item : list.items) {
    item.label *= kTurns;
    if (item.split != Split::kTrain) continue;
    for (int turns = 1; turns < kTurns; ++turns) {
      Item copy = item;
      copy.label += turns;
      copy.quarter_turns = turns;
      list.class_names[copy.label] =
          list.class_name(item.label) + " turned " + std::to_string(90 * turns);
      rotated.push_back(std::move(copy));
    }
  }
  list.items.insert(list.items.end(), rotated.begin(), rotated.end());
}

void hold_out_classes(ImageList& list, double share) {
  const std::set<int64_t> classes = classes_to_share(list);
  const auto count = static_cast<double>(classes.size());
  const double kept = std::floor((1 - share) * count + 0.5);
  if (!(kept >= 1 && kept < count)) {
    throw ConfigError("a share of " + std::to_string(share) + " of " +
                      std::to_string(classes.size()) +
                      " training classes cannot be held out: at least one "
                      "class must be held out and one must remain");
  }
  hold_out(list, {std::next(classes.begin(), static_cast<std::ptrdiff_t>(kept)),
                  classes.end()});
}

void hold_out_fold(ImageList& list, int64_t folds, int64_t fold) {
  if (folds < 2 || fold < 1 || fold > folds) {
    throw ConfigError("fold " + std::to_string(fold) + " of " +
                      std::to_string(folds) +
                      " cannot be held out: folds count from 1, and there are "
                      "at least 2");
  }
  const std::set<int64_t> classes = classes_to_share(list);
  const auto count = static_cast<int64_t>(classes.size());
  if (count < folds) {
    throw ConfigError(std::to_string(count) + " training classes cannot be " +
                      std::to_string(folds) +
                      " folds; 'train.folds' must not be greater");
  }
  const auto at = [&](int64_t f) {
    return std::next(classes.begin(), count * f / folds);
  };
  hold_out(list, {at(fold - 1), at(fold)});
}

}  // namespace kith
