#include <algorithm>
#include <array>
#include <vector>

#include "kith/data/corruption.h"
#include "kith/image/decode.h"
#include "kith/image/encode.h"

namespace kith {
namespace {

struct JpegOptions {
  std::vector<int64_t> compression = {80, 95};

  void describe(OptionSet& set) {
    set.add("compression", compression,
            "Least and most strength; the JPEG quality is 100 less this.")
        .range(0, 100);
  }
};

/// Encoded as JPEG and decoded again. The strength is a whole number, uniform
/// in `compression`, and the quality for libjpeg is 100 - strength, at least 1.
/// (imgaug's own scale gives a quality that is higher by two.)
class Jpeg final : public Corruption {
 public:
  static constexpr const char* kSummary = "JPEG of low quality";
  using Options = JpegOptions;

  explicit Jpeg(const Options& options)
      : compression_(range_of(options.compression, "jpeg", "compression")) {}

  Image apply(const Image& image, Rng& rng) const override {
    const int64_t strength = rng.between(compression_[0], compression_[1]);
    const auto quality = static_cast<int>(std::max<int64_t>(1, 100 - strength));
    return decode_image(encode_jpeg(image, quality), "JPEG in memory");
  }

 private:
  std::array<int64_t, 2> compression_;
};

}  // namespace

KITH_REGISTER(corruption_registry(), "jpeg", Jpeg);

}  // namespace kith
