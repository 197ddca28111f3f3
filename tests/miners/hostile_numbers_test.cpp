// Every registered miner on numbers that cannot be compared: an error, or what
// it chooses without looking at them. A new miner is tested here without any
// change.

#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/miners/miners.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/hostile_rows.h"

namespace kith {
namespace {

class HostileMiner : public ::testing::TestWithParam<std::string> {
 protected:
  HostileMiner()
      : miner_(make_miner("{name: " + GetParam() + "}")),
        batch_(make_batch({7, 5, 4, 3, 2, 2, 1}, 5, 3)) {}

  Tensor run(const Tensor& x) const {
    return (*miner_)(x, batch_.labels.to(x.device())).cpu();
  }

  /// Whether embeddings change nothing.
  bool is_blind() const {
    return torch::equal(run(batch_.x), run(batch_.x.flip({0})));
  }

  std::unique_ptr<Miner> miner_;
  LabelledBatch batch_;
};

TEST_P(HostileMiner, RefusesWhatIsNotFinite) {
  const Tensor usual = run(batch_.x);
  for (const c10::Device device : test_devices()) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      for (const auto& [name, rows] : rows_not_finite(batch_.x)) {
        SCOPED_TRACE(name);
        const Tensor x = rows.to(device, type);
        if (is_blind()) {
          EXPECT_TRUE(torch::equal(run(x), usual));
        } else {
          expect_error<c10::ValueError>([&] { run(x); }, "nothing can be mined",
                                        "row 4 of the embeddings", "NaN");
        }
      }
    }
  }
}

TEST_P(HostileMiner, RefusesWhatCannotBeSquared) {
  if (is_blind()) GTEST_SKIP() << "it does not look at embeddings";
  for (const c10::Device device : test_devices()) {
    const Tensor x = (batch_.x * kHuge).to(device);
    expect_error<c10::ValueError>([&] { run(x.to(at::kFloat)); },
                                  "nothing can be mined", "too large",
                                  "normalise");
    EXPECT_GT(run(x).size(0), 0) << "float64 has room for this";
  }
}

TEST_P(HostileMiner, ChoosesTheSameAtAnyScaleOnceNormalised) {
  for (const c10::Device device : test_devices()) {
    const Tensor x = batch_.x.to(device, at::kFloat);
    const Tensor usual = run(normalize_rows(x));
    for (const double scale : {kHuge, kTiny}) {
      EXPECT_TRUE(torch::equal(run(normalize_rows(x * scale)), usual)) << scale;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Miners, HostileMiner,
                         ::testing::ValuesIn(miner_registry().names()),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

}  // namespace
}  // namespace kith
