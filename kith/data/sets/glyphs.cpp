#include "kith/data/glyphs.h"

#include <cstdio>

#include "kith/core/error.h"
#include "kith/data/data_set.h"
#include "kith/data/find_colour.h"

namespace kith {
namespace {

struct GlyphsOptions {
  int64_t classes = kGlyphClasses;
  int64_t per_class = kGlyphImages;
  int64_t seed = 0;

  void describe(OptionSet& set) {
    set.add("classes", classes,
            "Characters; the first half is the training split, the other half "
            "the test split.")
        .range(2, 1'000'000);
    set.add("per_class", per_class, "Drawings of each character.")
        .range(1, 1'000'000);
    set.add("seed", seed, "Other seeds give other characters.").range(0);
  }
};

/// The generated characters, drawn when they are asked for. The pixels equal
/// those of the files that `kith data make glyphs` writes.
class GlyphsDataSet final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "generated hand-drawn characters, 64x64 grey";
  using Options = GlyphsOptions;

  explicit GlyphsDataSet(const Options& options) : options_(options) {
    constexpr int64_t kMaxImages = 100'000'000;
    if (options.classes > kMaxImages / options.per_class) {
      throw ConfigError("glyphs: 'classes' x 'per_class' must be at most " +
                        std::to_string(kMaxImages));
    }
    for (int64_t label = 0; label < options.classes; ++label) {
      const bool train = label < options.classes / 2;
      for (int64_t image = 0; image < options.per_class; ++image) {
        char path[64];
        std::snprintf(path, sizeof(path), "images/%04lld/%03lld.png",
                      static_cast<long long>(label),
                      static_cast<long long>(image));
        Item item;
        item.path = path;
        item.label = label;
        item.split = train ? Split::kTrain : Split::kTest;
        list_.items.push_back(std::move(item));
      }
    }
  }

 protected:
  StoredImage read(int64_t index) const override {
    return draw_glyph(static_cast<uint64_t>(options_.seed), item(index).label,
                      index % options_.per_class);
  }

 private:
  Options options_;
};

const bool glyphs_colour_added = add_colour("glyphs", "grey");

}  // namespace

KITH_REGISTER(data_set_registry(), "glyphs", GlyphsDataSet);

}  // namespace kith
