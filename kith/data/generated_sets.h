#pragma once

#include <cstdint>
#include <string>

#include "kith/data/data_set.h"
#include "kith/data/glyphs.h"

namespace kith {

struct GlyphsOptions {
  int64_t classes = kGlyphClasses;
  int64_t per_class = kGlyphImages;
  int64_t seed = 0;

  void describe(OptionSet& set);
};

/// The generated characters, drawn when they are asked for. The pixels equal
/// those of the files that `kith data make glyphs` writes.
class GlyphsDataSet final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "generated hand-drawn characters, 64x64 grey";
  static constexpr DataSetTraits kTraits = {.colour = "grey"};
  using Options = GlyphsOptions;

  explicit GlyphsDataSet(Options options = {});

 protected:
  StoredImage read(int64_t index) const override;

 private:
  Options options_;
};

struct LandmarksOptions {
  int64_t classes = 120;
  int64_t per_class = 16;
  int64_t seed = 0;

  void describe(OptionSet& set);
};

/// Photographs of any shape, drawn when they are asked for, with what the
/// protocol `revisited` wants of a data set: queries with boxes, and lists of
/// easy, hard and junk photographs.
class LandmarksDataSet final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "generated photographs of buildings in mixed shapes, with queries and "
      "easy, hard and junk answers";
  static constexpr DataSetTraits kTraits = {.protocol = "revisited",
                                            .colour = "rgb"};
  using Options = LandmarksOptions;

  explicit LandmarksDataSet(Options options = {});

 protected:
  StoredImage read(int64_t index) const override;

 private:
  uint64_t seed() const { return static_cast<uint64_t>(options_.seed); }

  Options options_;
};

struct PointsOptions {
  std::string setting = "diagonal";
  int64_t samples = 15;

  void describe(OptionSet& set);
};

/// Points on lines in the plane (Roth et al., ICML 2020, figures 6 and 12):
/// four lines to train on, four others to test on, each a class. A point is a
/// picture of one pixel: red is x, green is y from below, both of 0 .. 255, and
/// blue is 0. A point is where its bytes are, so nothing is rounded later.
class PointsDataSet final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "points on eight lines in the plane, 1x1 RGB: x, y, 0";
  static constexpr DataSetTraits kTraits = {.colour = "rgb"};
  using Options = PointsOptions;

  explicit PointsDataSet(Options options = {});

 protected:
  StoredImage read(int64_t index) const override;

 private:
  Options options_;
};

}  // namespace kith
