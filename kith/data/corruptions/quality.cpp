#include <algorithm>

#include "kith/data/corruptions.h"
#include "kith/data/range_option.h"
#include "kith/image/blur.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"

namespace kith {

void GaussianBlurOptions::describe(OptionSet& set) {
  set.add("sigma", sigma, "Least and most deviation of the kernel, in pixels.")
      .range(0.01, 100);
}

GaussianBlurCorruption::GaussianBlurCorruption(Options options)
    : sigma_(range_of(checked(std::move(options), "gaussian_blur").sigma,
                      "gaussian_blur", "sigma")) {}

Image GaussianBlurCorruption::apply(const Image& image, Rng& rng) const {
  return gaussian_blur(image, rng.uniform(sigma_[0], sigma_[1]));
}

void JpegOptions::describe(OptionSet& set) {
  set.add("compression", compression,
          "Least and most strength; the JPEG quality is 100 less this.")
      .range(0, 100);
}

JpegCorruption::JpegCorruption(Options options)
    : compression_(range_of(checked(std::move(options), "jpeg").compression,
                            "jpeg", "compression")) {}

Image JpegCorruption::apply(const Image& image, Rng& rng) const {
  const int64_t strength = rng.between(compression_[0], compression_[1]);
  const auto quality = static_cast<int>(std::max<int64_t>(1, 100 - strength));
  return decode_image(encode_jpeg(image, quality), "JPEG in memory");
}

KITH_REGISTER(corruption_registry(), "gaussian_blur", GaussianBlurCorruption);
KITH_REGISTER(corruption_registry(), "jpeg", JpegCorruption);

}  // namespace kith
