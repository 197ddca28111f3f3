#pragma once

#include "kith/image/image.h"

namespace kith {

/// Changes of the levels of a picture, in place, as Pillow's ImageOps makes
/// them: each channel by a table of its own.

/// Stretches each channel to the whole range; one of a single level stays.
void auto_contrast(Image& image);

/// Gives each channel an even histogram.
void equalize(Image& image);

/// Keeps the `bits` highest bits of each value, 0 to 8 (asserted).
void posterize(Image& image, int bits);

/// Inverts the values from `threshold` on; 256 inverts none.
void solarize(Image& image, int threshold);

}  // namespace kith
