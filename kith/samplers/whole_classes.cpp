#include "kith/core/rng.h"
#include "kith/samplers/classes.h"
#include "kith/samplers/image_row.h"
#include "kith/samplers/sampler.h"

namespace kith {
namespace {

struct WholeClassesOptions {
  int64_t batch = 256;

  void describe(OptionSet& set) {
    set.add("batch", batch, "Images a batch.").range(2);
  }
};

/// The "random" batches of FastAP: random classes with all images of each,
/// until there are M. The class that would be too much is cut, and its other
/// images open the next batch, so an epoch uses every image once but for the
/// N mod M that fill no batch (Cakir et al., CVPR 2019, supplement A).
class WholeClassesSampler final : public Sampler {
 public:
  static constexpr const char* kSummary =
      "random classes with all their images (FastAP, random)";
  static constexpr PartFacts kFacts = {
      .formula =
          "row   = classes in random order, the images of each side by side\n"
          "epoch = the row cut into N/M batches of M: whole classes, but for\n"
          "        those at the cuts, which go on in the next batch",
      .source = "Cakir et al., CVPR 2019 (supplement)",
      .cost = "O(N) time and memory an epoch"};
  using Options = WholeClassesOptions;

  WholeClassesSampler(const Options& options, const SamplerInput& input)
      : batch_(options.batch),
        seed_(input.seed),
        batches_(count_full_batches(static_cast<int64_t>(input.indices.size()),
                                    options.batch)),
        classes_(images_by_class(input.indices, input.labels)) {}

  std::vector<std::vector<int64_t>> epoch(
      const EpochInput& input) const override {
    Rng rng(seed_, Stream::kSampler, {input.epoch});
    ImageRow row(classes_, rng);
    std::vector<std::vector<int64_t>> plan(static_cast<size_t>(batches_));
    for (std::vector<int64_t>& batch : plan) {
      row.take(static_cast<size_t>(batch_), batch);
    }
    return plan;
  }

 private:
  int64_t batch_;
  uint64_t seed_;
  int64_t batches_;
  ClassImages classes_;
};

}  // namespace

KITH_REGISTER(sampler_registry(), "whole_classes", WholeClassesSampler);

}  // namespace kith
