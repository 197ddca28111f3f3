#include <array>
#include <vector>

#include "kith/data/corruption.h"
#include "kith/image/blur.h"

namespace kith {
namespace {

struct GaussianBlurOptions {
  std::vector<double> sigma = {1.0, 3.0};

  void describe(OptionSet& set) {
    set.add("sigma", sigma,
            "Least and most deviation of the kernel, in pixels.")
        .range(0.01, 100);
  }
};

/// A Gaussian kernel whose deviation is uniform in `sigma`, drawn once per
/// picture. (imgaug cuts its kernel off at about 1.6 sigma, which blurs less
/// than its sigma says; here the kernel reaches to 4 sigma.)
class GaussianBlur final : public Corruption {
 public:
  static constexpr const char* kSummary = "blurred with a Gaussian kernel";
  using Options = GaussianBlurOptions;

  explicit GaussianBlur(const Options& options)
      : sigma_(range_of(options.sigma, "gaussian_blur", "sigma")) {}

  Image apply(const Image& image, Rng& rng) const override {
    return gaussian_blur(image, rng.uniform(sigma_[0], sigma_[1]));
  }

 private:
  std::array<double, 2> sigma_;
};

}  // namespace

KITH_REGISTER(corruption_registry(), "gaussian_blur", GaussianBlur);

}  // namespace kith
