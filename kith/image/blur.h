#pragma once

#include "kith/image/image.h"

namespace kith {

/// The picture convolved with a Gaussian of deviation `sigma` > 0 pixels
/// (asserted), cut off at ceil(4 sigma), and rounded. Beyond its edges the
/// picture is continued by its mirror image, edge pixels included, so that the
/// mean brightness stays.
Image gaussian_blur(const Image& image, double sigma);

}  // namespace kith
