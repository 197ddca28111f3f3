#include "kith/data/landmarks.h"

#include <algorithm>
#include <cstdio>

#include "kith/core/error.h"
#include "kith/data/data_set.h"
#include "kith/data/find_colour.h"

namespace kith {
namespace {

struct LandmarksOptions {
  int64_t classes = 120;
  int64_t per_class = 16;
  int64_t seed = 0;

  void describe(OptionSet& set) {
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
};

/// Test photographs: a query, then easy, hard, easy, hard, junk, easy, ...
LandmarkView view_of(bool train, int64_t photo) {
  if (!train && photo > 0 && photo % 5 == 0) return LandmarkView::kJunk;
  const int64_t turn = train ? photo : std::max<int64_t>(photo - 1, 0) % 5;
  return turn % 2 == 0 ? LandmarkView::kEasy : LandmarkView::kHard;
}

/// Photographs of any shape, drawn when they are asked for, with what the
/// protocol `revisited` wants of a data set: queries with boxes, and lists of
/// easy, hard and junk photographs.
class Landmarks final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "generated photographs of buildings in mixed shapes, with queries and "
      "easy, hard and junk answers";
  using Options = LandmarksOptions;

  explicit Landmarks(const Options& options) : options_(options) {
    constexpr int64_t kMaxImages = 100'000'000;
    if (options.classes > kMaxImages / options.per_class) {
      throw ConfigError("landmarks: 'classes' x 'per_class' must be at most " +
                        std::to_string(kMaxImages));
    }
    list_.has_query_gallery = true;
    for (int64_t label = 0; label < options.classes; ++label) {
      const bool train = label < options.classes / 2;
      if (!train) list_.truths.emplace_back();
      for (int64_t photo = 0; photo < options.per_class; ++photo) {
        add(train, label, photo);
      }
    }
  }

 protected:
  StoredImage read(int64_t index) const override {
    const int64_t photo = index % options_.per_class;
    return photograph_landmark(seed(), item(index).label, photo,
                               view_of(is_train(index), photo))
        .image;
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(options_.seed); }

  /// Held-out training classes stay what they were drawn as.
  bool is_train(int64_t index) const {
    return item(index).label < options_.classes / 2;
  }

  void add(bool train, int64_t label, int64_t photo) {
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

  static std::vector<int64_t>& answers(QueryTruth& truth, LandmarkView view) {
    if (view == LandmarkView::kEasy) return truth.easy;
    return view == LandmarkView::kHard ? truth.hard : truth.junk;
  }

  Options options_;
};

const bool landmarks_protocol_added = add_usual_protocol("landmarks", "revisited");
const bool landmarks_colour_added = add_colour("landmarks", "rgb");

}  // namespace

KITH_REGISTER(data_set_registry(), "landmarks", Landmarks);

}  // namespace kith
