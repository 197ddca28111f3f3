#include <cstdio>

#include "kith/core/error.h"
#include "kith/data/generated_sets.h"

namespace kith {

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
  constexpr int64_t kMaxImages = 100'000'000;
  if (options_.classes > kMaxImages / options_.per_class) {
    throw ConfigError("glyphs: 'classes' x 'per_class' must be at most " +
                      std::to_string(kMaxImages));
  }
  for (int64_t label = 0; label < options_.classes; ++label) {
    const bool train = label < options_.classes / 2;
    for (int64_t image = 0; image < options_.per_class; ++image) {
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

StoredImage GlyphsDataSet::read(int64_t index) const {
  return draw_glyph(static_cast<uint64_t>(options_.seed), item(index).label,
                    index % options_.per_class);
}

KITH_REGISTER(data_set_registry(), "glyphs", GlyphsDataSet);

}  // namespace kith
