#pragma once

#include "kith/image/image.h"

namespace kith {

/// Grey by the ITU-R 601 weights, RGB by repetition.
Image to_channels(const Image& image, int channels);

/// The changes of colour of Pillow's ImageEnhance, in place: each mixes the
/// picture with a duller one, `factor` 0 giving the dull one, 1 the picture and
/// more an exaggeration. They mix with black, with the mean grey, and with the
/// grey picture. factor >= 0.
void adjust_brightness(Image& image, double factor);
void adjust_contrast(Image& image, double factor);
void adjust_saturation(Image& image, double factor);

/// The fourth of them, which mixes with a smoothed picture: each pixel but the
/// outermost with its eight neighbours, itself weighing five times.
void adjust_sharpness(Image& image, double factor);

/// Shifts the hue by -0.5 to 0.5 turns, in Pillow's HSV of 8 bits.
void adjust_hue(Image& image, double turns);

// Saturation and hue leave a grey picture as it is.

}  // namespace kith
