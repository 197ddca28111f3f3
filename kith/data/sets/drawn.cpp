#include <algorithm>
#include <cstdio>

#include "kith/core/error.h"
#include "kith/data/generated_sets.h"
#include "kith/data/landmarks.h"

namespace kith {
namespace {

/// The images of `classes` classes with `per_class` each: the first half of the
/// classes is the training split, the other half the test split.
std::vector<Item> drawn_items(const std::string& set, int64_t classes,
                              int64_t per_class) {
  constexpr int64_t kMaxImages = 100'000'000;
  if (classes > kMaxImages / per_class) {
    throw ConfigError(set + ": 'classes' x 'per_class' must be at most " +
                      std::to_string(kMaxImages));
  }
  std::vector<Item> items;
  items.reserve(static_cast<size_t>(classes * per_class));
  for (int64_t label = 0; label < classes; ++label) {
    for (int64_t image = 0; image < per_class; ++image) {
      char path[64];
      std::snprintf(path, sizeof(path), "images/%04lld/%03lld.png",
                    static_cast<long long>(label),
                    static_cast<long long>(image));
      items.push_back(
          {.path = path,
           .label = label,
           .split = label < classes / 2 ? Split::kTrain : Split::kTest});
    }
  }
  return items;
}

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

void GlyphsOptions::describe(OptionSet& set) {
  set.add("classes", classes,
          "Characters; the first half is the training split, the other half "
          "the test split.")
      .range(2, 1'000'000);
  set.add("per_class", per_class, "Drawings of each character.")
      .range(1, 1'000'000);
  set.add("seed", seed, "Other seeds give other characters.").range(0);
}

GlyphsDataSet::GlyphsDataSet(Options options)
    : DataSet(kTraits), options_(checked(std::move(options), "glyphs")) {
  made_of(options_);
  list_.items = drawn_items("glyphs", options_.classes, options_.per_class);
}

StoredImage GlyphsDataSet::read(int64_t index) const {
  return draw_glyph(static_cast<uint64_t>(options_.seed), item(index).label,
                    index % options_.per_class);
}

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
  made_of(options_);
  list_.has_query_gallery = true;
  list_.items = drawn_items("landmarks", options_.classes, options_.per_class);
  for (size_t i = 0; i < list_.items.size(); ++i) {
    Item& item = list_.items[i];
    if (item.split == Split::kTrain) continue;
    const auto position = static_cast<int64_t>(i);
    const int64_t photo = position % options_.per_class;
    const LandmarkView view = view_of(/*train=*/false, photo);
    item.is_query = photo == 0;
    item.is_gallery = photo != 0;
    if (photo == 0) {
      list_.truths.push_back({.query = position});
      item.box = landmark_box(seed(), item.label, photo, view);
    } else {
      answers(list_.truths.back(), view).push_back(position);
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

KITH_REGISTER(data_set_registry(), "glyphs", GlyphsDataSet);
KITH_REGISTER(data_set_registry(), "landmarks", LandmarksDataSet);

}  // namespace kith
