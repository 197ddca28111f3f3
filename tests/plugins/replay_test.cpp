// A backbone whose passes cannot be recorded.

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/models/replayed_forward.h"
#include "tests/support/log_capture.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Its third pass fails, as one does that waits for the GPU.
class WaitingNet final : public Backbone {
 public:
  static constexpr const char* kSummary = "for tests: cannot be recorded";
  using Options = NoOptions;

  WaitingNet(const Options&, const BackboneInput& input)
      : channels_(input.channels) {}

  Features run(const Tensor& images, const Mixing&) override {
    if (++passes_ == 3) throw std::runtime_error("it waits");
    return {images, {}};
  }
  int64_t features() const override { return channels_; }

 private:
  int64_t channels_;
  int64_t passes_ = 0;
};

KITH_REGISTER(backbone_registry(), "test_waiting", WaitingNet);

TEST(ReplayFallback, GoesOnIfAPassCannotBeRecorded) {
  torch::manual_seed(5);
  EmbeddingNet net(
      parse_config("{input: {size: 16, colour: grey, mean: [0.5], std: [0.5]}, "
                   "backbone: {name: test_waiting}, head: {dim: 4}}",
                   "test"));
  net.eval();
  const Tensor pixels =
      torch::arange(2 * 16 * 16, torch::kByte).view({2, 16, 16, 1});
  const LogCapture log;
  ReplayedForward replayed(net, false, /*always=*/true);
  const Tensor expected = replayed(pixels);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(same_bits(replayed(pixels), expected));
  }
  EXPECT_EQ(replayed.recordings(), 0);
  EXPECT_THAT(log.warnings(), SizeIs(1));
  EXPECT_THAT(log.warnings(), Contains(HasSubstr("it waits")));
}

}  // namespace
}  // namespace kith
