#include "kith/data/landmarks.h"

#include <algorithm>
#include <cstdio>

#include "kith/core/error.h"
#include "kith/data/generated_sets.h"

namespace kith {
namespace {

/// Test photographs: a query, then easy, hard, easy, hard, junk, easy, ...
LandmarkView view_of(bool train, int64_t photo) {
  if (!train && photo > 0 && photo % 5 == 0) return LandmarkView::kJunk;
  const int64_t turn = train ? photo : std::max<int64_t>(photo - 1, 0) % 5;
  return turn % 2 == 0 ? LandmarkView::kEasy : LandmarkView::kHard;
}

std::vector<int64_t>& answers(QueryTruth& truth, LandmarkView view) {
  if (view == LandmarkView::kEasy) return truth.easy;
  return view == LandmarkView::kHard ? truth.hard : truth.junk;
}

}  // namespace

void LandmarksOptions::describe(OptionSet& set) {
  set.add("classes", classes,
          "Landmarks; the first half is the training split, the other half "
          "the test split.")
      .range(2, 1'000'000);
  set.add("per_class", per_class,
          "Photographs of each. Of a test landmark the first is a query, "
          "with a box, and the others are in the gallery: easy, hard, and "
          "every fifth junk.")
      .range(4, 1'000'000);
  set.add("seed", seed, "Other seeds give other landmarks.").range(0);
}

LandmarksDataSet::LandmarksDataSet(Options options)
    : DataSet(kTraits), options_(checked(std::move(options), "landmarks")) {
  constexpr int64_t kMaxImages = 100'000'000;
  if (options_.classes > kMaxImages / options_.per_class) {
    throw ConfigError("landmarks: 'classes' x 'per_class' must be at most " +
                      std::to_string(kMaxImages));
  }
  list_.has_query_gallery = true;
  for (int64_t label = 0; label < options_.classes; ++label) {
    const bool train = label < options_.classes / 2;
    if (!train) list_.truths.emplace_back();
    for (int64_t photo = 0; photo < options_.per_class; ++photo) {
      add(train, label, photo);
    }
  }
}

StoredImage LandmarksDataSet::read(int64_t index) const {
  const int64_t photo = index % options_.per_class;
  const int64_t label = item(index).label;
  // Held-out training classes stay what they were drawn as.
  const bool train = label < options_.classes / 2;
  return photograph_landmark(seed(), label, photo, view_of(train, photo)).image;
}

void LandmarksDataSet::add(bool train, int64_t label, int64_t photo) {
  const auto position = static_cast<int64_t>(list_.items.size());
  const LandmarkView view = view_of(train, photo);
  Item item;
  char path[64];
  std::snprintf(path, sizeof(path), "images/%04lld/%03lld.png",
                static_cast<long long>(label), static_cast<long long>(photo));
  item.path = path;
  item.label = label;
  item.split = train ? Split::kTrain : Split::kTest;
  if (!train) {
    item.is_query = photo == 0;
    item.is_gallery = photo != 0;
    QueryTruth& truth = list_.truths.back();
    if (photo == 0) {
      truth.query = position;
      item.box = landmark_box(seed(), label, photo, view);
    } else {
      answers(truth, view).push_back(position);
    }
  }
  list_.items.push_back(std::move(item));
}

KITH_REGISTER(data_set_registry(), "landmarks", LandmarksDataSet);

}  // namespace kith
