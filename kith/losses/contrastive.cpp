#include "kith/losses/contrastive.h"

#include <mutex>

#include <torch/torch.h>

#include "kith/core/log.h"
#include "kith/losses/rows/contrastive.h"
#include "kith/ops/row_engine.h"
#include "kith/ops/row_replay.h"
#include "kith/ops/tuples.h"

namespace kith {

const char* const Contrastive::kSummary =
    "contrastive (Hadsell et al., CVPR 2006), given tuples or all pairs";

const PartFacts Contrastive::kFacts = {
    .formula =
        "loss = mean [D_ap - pos_margin]+ over positive pairs\n"
        "     + mean [neg_margin - D_an]+ over negative pairs",
    .source = "Hadsell, Chopra & LeCun, CVPR 2006",
    .cost =
        "O(T D) time and memory for tuples; O(M^2 D) time, memory_mb and "
        "O(M D) memory for all pairs",
    .golden = "rev_contrastive, pml_contrastive"};

void ContrastiveOptions::describe(OptionSet& set) {
  set.add("pos_margin", pos_margin,
          "Positive pairs closer than this cost nothing.")
      .range(0);
  set.add("neg_margin", neg_margin,
          "Negative pairs farther apart than this cost nothing.")
      .range(0);
  set.add("reduction", reduction,
          "Mean over all pairs of a sign, or over the active ones (with a "
          "positive term). auto: all for mined tuples, active for all pairs "
          "of the batch, as the two published codes do.")
      .choices({"auto", "all", "active"});
  rows.describe(set);
}

Contrastive::Contrastive(Options options)
    : options_(checked(std::move(options), "contrastive")),
      replay_(std::make_shared<RowReplay>()) {}

LossOutput Contrastive::forward(const LossInput& input) const {
  if (!input.tuples.defined()) return on_all_pairs(input);
  TORCH_CHECK_VALUE(!options_.rows.simix && !input.mixed.defined(),
                    "SiMix is for all pairs of the batch: not with tuples");
  const Tensor value =
      input.tuples.size(1) == 3 ? on_triplets(input) : on_pairs(input);
  return {keep_bad_visible(value, input.embeddings), {}};
}

LossOutput Contrastive::on_all_pairs(const LossInput& input) const {
  const ContrastiveParams params = {options_.pos_margin, options_.neg_margin,
                                    options_.reduction != "all"};
  RowLoss loss = make_row_loss(params);
  loss.euclidean = true;
  return compute_rows(loss, input, options_.rows, "anchors", *replay_);
}

Tensor Contrastive::on_triplets(const LossInput& input) const {
  const std::vector<Tensor> distance =
      tuple_distances(input.embeddings, input.tuples, {{0, 1}, {0, 2}});
  const Tensor positive = (distance[0] - options_.pos_margin).relu();
  const Tensor negative = (options_.neg_margin - distance[1]).relu();
  // One mean where both have the same divisor.
  if (options_.reduction != "active") {
    return hinge_mean(positive + negative, false);
  }
  return hinge_mean(positive, true) + hinge_mean(negative, true);
}

Tensor Contrastive::on_pairs(const LossInput& input) const {
  const Tensor distance =
      tuple_distances(input.embeddings, input.tuples, {{0, 1}})[0];
  const Tensor label =
      input.labels.index_select(0, input.tuples.flatten()).view({-1, 2});
  const Tensor same = label.select(1, 0) == label.select(1, 1);
  const Tensor terms = torch::where(same, distance - options_.pos_margin,
                                    options_.neg_margin - distance)
                           .relu();  // [T]
  const Tensor counted =
      options_.reduction == "active" ? terms > 0 : torch::ones_like(same);
  const Tensor positives = counted.logical_and(same).sum();
  const Tensor negatives = counted.sum() - positives;
  // Divided one by one, for the two means differ in their divisors.
  return (terms / torch::where(same, positives, negatives).clamp_min(1)).sum();
}

KITH_REGISTER(loss_registry(), "contrastive", Contrastive);

namespace {

struct ContrastiveAllOptions {
  ContrastiveOptions contrastive = {.reduction = "active"};

  void describe(OptionSet& set) { contrastive.describe(set); }
};

/// The old name of `contrastive` on all pairs of the batch, for one version
/// more: configurations that name it have no miner, which `contrastive` has by
/// default.
class ContrastiveAll final : public Contrastive {
 public:
  static constexpr const char* kSummary =
      "old name of contrastive over all pairs of the batch (no miner)";
  static constexpr PartFacts kFacts = {
      .formula =
          "loss = mean [D_ap - pos_margin]+ over positive pairs\n"
          "     + mean [neg_margin - D_an]+ over negative pairs",
      .source =
          "Hadsell, Chopra & LeCun, CVPR 2006; all pairs as in "
          "pytorch-metric-learning",
      .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
      .golden = "pml_contrastive"};
  static constexpr LossTraits kTraits = {};
  using Options = ContrastiveAllOptions;

  explicit ContrastiveAll(Options options)
      : Contrastive(std::move(options.contrastive)) {}

  std::vector<int64_t> tuple_widths() const override { return {}; }

 protected:
  // Not when it is made: lists of all losses make it too.
  LossOutput forward(const LossInput& input) const override {
    static std::once_flag told;
    std::call_once(told, [] {
      log_warning(
          "the loss contrastive_all is now contrastive (with 'miner: null'); "
          "the old name goes in the next version");
    });
    return Contrastive::forward(input);
  }
};

}  // namespace

KITH_REGISTER(loss_registry(), "contrastive_all", ContrastiveAll);

}  // namespace kith
