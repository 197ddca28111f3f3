#pragma once

#include <cstdint>

#include "kith/image/crop.h"
#include "kith/image/image.h"

namespace kith {

/// What of its landmark a photograph of the generated data set `landmarks`
/// shows.
enum class LandmarkView {
  kEasy,  ///< All of it, in fair light.
  kHard,  ///< A part of it from nearby, in any light, with more in the way.
  kJunk,  ///< A detail.
};

/// A photograph: colour, sides of 64 to 128 pixels, upright, square or wide.
struct LandmarkPhoto {
  Image image;
  Box box;  ///< Where in it the landmark is, as far as it is seen.
};

/// Photographs a generated landmark: a building with walls, windows, a roof and
/// ornaments of its own, among others in a street. View, light, sky, neighbours
/// and what stands in the way are those of the photograph alone. A pure
/// function of its arguments.
LandmarkPhoto photograph_landmark(uint64_t seed, int64_t landmark,
                                  int64_t photo, LandmarkView view);

/// Its box alone, without drawing it.
Box landmark_box(uint64_t seed, int64_t landmark, int64_t photo,
                 LandmarkView view);

}  // namespace kith
