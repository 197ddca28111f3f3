// Every registered loss on numbers that break arithmetic: an error or the right
// number, never another. A new loss is tested here without any change.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/losses/loss.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/hostile_rows.h"
#include "tests/support/torch/loss_subjects.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kDouble};

/// Shuffled classes of 6, 4, 3 and 3.
Tensor some_labels() {
  return labels_of({0, 1, 0, 2, 3, 1, 0, 3, 2, 0, 1, 3, 0, 2, 1, 0});
}

/// Unit vectors.
Tensor some_rows() { return normalize_rows(random_normal({16, 6}, 1)); }

/// A loss and a batch for it.
struct HostileCase {
  std::unique_ptr<Loss> loss;
  LossInput input;
};

class HostileLoss : public ::testing::TestWithParam<LossSubject> {
 protected:
  static HostileCase make(const Tensor& embeddings,
                          const std::string& options = "") {
    const Tensor labels = some_labels().to(embeddings.device());
    HostileCase made;
    made.loss = make_loss_for("{name: " + GetParam().name + options + "}",
                              embeddings, count_classes(labels) + 2);
    // Tuples of rows that can be mined, for the same at all scales.
    made.input = input_for(*made.loss, some_rows().to(embeddings.options()),
                           labels, GetParam().width);
    made.input.embeddings = embeddings;
    return made;
  }
};

TEST_P(HostileLoss, RefusesWhatIsNotFinite) {
  for (const c10::Device device : test_devices()) {
    for (const at::ScalarType type : kTypes) {
      for (const auto& [name, x] : rows_not_finite(some_rows())) {
        SCOPED_TRACE(name);
        const HostileCase at = make(x.to(device, type));
        // What the trainer calls, and looks at the value of.
        EXPECT_FALSE(
            std::isfinite(at.loss->unchecked(at.input).value.item<double>()));
        expect_error<c10::ValueError>([&] { (*at.loss)(at.input); },
                                      "row 4 of the embeddings", "NaN");
      }
    }
  }
}

/// Not even that of an example that it does not use.
TEST_P(HostileLoss, HidesNoRow) {
  for (const c10::Device device : test_devices()) {
    for (int64_t row = 0; row < some_rows().size(0); ++row) {
      const Tensor x = some_rows().to(device);
      x[row][1] = std::nan("");
      const HostileCase at = make(x);
      EXPECT_FALSE(
          std::isfinite(at.loss->unchecked(at.input).value.item<double>()))
          << row;
    }
  }
}

TEST_P(HostileLoss, RefusesVirtualExamplesOfWhatIsNotFinite) {
  if (!make(some_rows()).loss->takes_mixed()) {
    GTEST_SKIP() << "it takes no virtual examples";
  }
  for (const c10::Device device : test_devices()) {
    for (const auto& [name, x] : rows_not_finite(some_rows())) {
      SCOPED_TRACE(name);
      const HostileCase at = make(x.to(device, at::kFloat), ", simix: true");
      EXPECT_THROW((*at.loss)(at.input), c10::ValueError);
    }
  }
}

TEST_P(HostileLoss, RefusesADatabaseThatIsNotFinite) {
  if (!make(some_rows()).loss->takes_database() || GetParam().width > 0) {
    GTEST_SKIP() << "it takes no database";
  }
  for (const c10::Device device : test_devices()) {
    for (const auto& [name, x] : rows_not_finite(some_rows())) {
      SCOPED_TRACE(name);
      HostileCase at = make(some_rows().to(device, at::kFloat));
      at.input.database.embeddings = x.to(device, at::kFloat);
      at.input.database.labels = at.input.labels;
      expect_error<c10::ValueError>([&] { (*at.loss)(at.input); },
                                    "row 4 of the database", "NaN");
    }
    // Products overflow, and no row is compared with itself.
    HostileCase at = make(some_rows().to(device, at::kFloat) * kHuge);
    at.input.database.embeddings = at.input.embeddings.flip({1});
    at.input.database.labels = at.input.labels;
    EXPECT_THROW((*at.loss)(at.input), RunError);
  }
}

TEST_P(HostileLoss, RefusesParametersThatAreNotFinite) {
  const HostileCase usual = make(some_rows());
  for (const auto& [name, ignored] : usual.loss->named_parameters().pairs()) {
    SCOPED_TRACE(name);
    const HostileCase at = make(some_rows());
    for (const auto& [other, value] : at.loss->named_parameters().pairs()) {
      const torch::NoGradGuard no_grad;
      if (other == name) value.view({-1})[0].fill_(std::nan(""));
    }
    expect_error<c10::ValueError>([&] { (*at.loss)(at.input); },
                                  "the parameter '" + name + "'");
  }
}

/// The value and gradient; nothing if they are too large for the type, which is
/// an error.
std::optional<LossGradient> result_of(const HostileCase& at) {
  try {
    return differentiate(*at.loss, at.input);
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("too large for"),
              std::string::npos)
        << error.what();
    return {};
  }
}

/// float64 has room for all of these and is the reference. Distances from
/// inner products are good to the root of the precision.
class Comparison {
 public:
  Comparison(std::string name, double usual)
      : scaled_(name.find("huge") != std::string::npos ||
                name.find("tiny") != std::string::npos),
        usual_(usual) {}

  /// float32 may lack the room for what is scaled.
  void expect_right(const std::optional<LossGradient>& narrow,
                    const LossGradient& wide) const {
    if (!narrow) {
      EXPECT_TRUE(scaled_) << "float32 has room for this";
      return;
    }
    EXPECT_NEAR(narrow->value, wide.value,
                kDigits * std::max(1.0, std::abs(wide.value)));
    ASSERT_TRUE(is_finite(wide.gradient));
    if (scaled_) {
      expect_not_larger(narrow->gradient, wide.gradient);
      return;
    }
    EXPECT_LE(max_difference(narrow->gradient, wide.gradient),
              kDigits * std::max(largest(wide.gradient), usual_))
        << narrow->gradient << wide.gradient;
  }

 private:
  static constexpr double kDigits = 1e-3;

  static double largest(const Tensor& x) {
    return x.abs().max().item<double>();
  }
  static bool is_finite(const Tensor& x) {
    return torch::isfinite(x).all().item<bool>();
  }

  /// The same gradient, or less of it: where squares vanish a distance counts
  /// as zero and has none. Infinity stops a training.
  static void expect_not_larger(const Tensor& narrow, const Tensor& wide) {
    if (!is_finite(narrow)) return;
    const double most = largest(wide);
    if (max_difference(narrow, wide) <= kDigits * most) return;
    EXPECT_LE(largest(narrow), (1 + kDigits) * most) << narrow << wide;
  }

  bool scaled_;
  double usual_;  ///< The largest number of an ordinary gradient.
};

TEST_P(HostileLoss, IsRightOrAnErrorOnFiniteNumbers) {
  // A mean over the terms above zero jumps where one begins: no row may be just
  // there. A unit vector's distance from a row of zeros is such a margin, and
  // so is their ratio of variances, which is 1 at any length.
  const Tensor rows = some_rows() * 1.1;
  const std::string options =
      GetParam().name == "snr_contrastive" ? ", neg_margin: 0.9" : "";
  for (const c10::Device device : test_devices()) {
    const auto usual = result_of(make(rows.to(device), options));
    ASSERT_TRUE(usual);
    const double most = usual->gradient.abs().max().item<double>();
    for (const auto& [name, x] : rows_finite(rows.to(at::kFloat))) {
      SCOPED_TRACE(name);
      const auto wide = result_of(make(x.to(device, at::kDouble), options));
      ASSERT_TRUE(wide);
      const auto narrow = result_of(make(x.to(device), options));
      Comparison(name, most).expect_right(narrow, *wide);
    }
  }
}

/// As the head and `kith loss` do.
TEST_P(HostileLoss, IsTheSameAtAnyScaleOnceNormalised) {
  for (const c10::Device device : test_devices()) {
    const Tensor x = random_normal({16, 6}, 1, at::kFloat).to(device);
    const auto run = [&](const Tensor& rows) {
      const HostileCase at = make(rows);
      return differentiate_normalized(*at.loss, at.input);
    };
    const LossGradient usual = run(x);
    for (const double scale : {kHuge, kTiny}) {
      SCOPED_TRACE(scale);
      const LossGradient scaled = run(x * scale);
      EXPECT_EQ(scaled.value, usual.value);
      const Tensor expected = usual.gradient / scale;
      EXPECT_LE(max_difference(scaled.gradient, expected),
                1e-6 * expected.abs().max().item<double>());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, HostileLoss,
                         ::testing::ValuesIn(loss_subjects()),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

}  // namespace
}  // namespace kith
