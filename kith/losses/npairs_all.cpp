#include "kith/losses/npairs_all.h"

#include <torch/torch.h>

#include "kith/losses/rows/nt_xent.h"
#include "kith/ops/known_gradient.h"
#include "kith/ops/row_engine.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

/// So few are quicker in one matrix than walked in blocks.
constexpr int64_t kFewPairs = 2048;

/// anchors and positives [P, D], P > 0 -> the loss, with its gradient.
Tensor in_one_matrix(const Tensor& anchors, const Tensor& positives) {
  const at::NoGradGuard no_grad;
  const Tensor share = torch::mm(anchors, positives.t()).log_softmax(1);
  const Tensor value = share.diagonal().mean().neg();
  Tensor slope = share.exp();  // dL/ds, but for the mean's divisor
  slope.diagonal().sub_(1);
  slope.div_(static_cast<double>(anchors.size(0)));
  const at::AutoGradMode with_grad(true);
  return known_gradient(value, {anchors, positives},
                        {torch::mm(slope, positives.detach()),
                         torch::mm(slope.t(), anchors.detach())});
}

}  // namespace

const char* const NpairsAll::kSummary =
    "N-pairs, one pair per class (Sohn, NeurIPS 2016)";

const PartFacts NpairsAll::kFacts = {
    .formula =
        "a_c, p_c: the first two examples of class c in the batch\n"
        "loss = mean over classes of -log(e^{a_c.p_c} / sum_{c'} "
        "e^{a_c.p_c'})",
    .source =
        "Sohn, NeurIPS 2016; one pair per class as in pytorch-metric-learning",
    .cost = "O(C^2 D) time for C classes; memory_mb and O(C D) memory",
    .golden = "pml_npairs"};

NpairsAll::NpairsAll(Options options)
    : options_(checked(std::move(options), "npairs_all")) {}

LossOutput NpairsAll::forward(const LossInput& input) const {
  const SortedSet sorted = sort_by_label(input.labels);
  const int64_t count = sorted.examples;
  // Positions where a class starts, and whose next is of the same class.
  const Tensor& labels = sorted.labels;
  const Tensor differs = labels.slice(0, 1) != labels.slice(0, 0, count - 1);
  const Tensor edge = torch::ones({1}, differs.options());
  const Tensor starts = torch::cat({edge, differs}).slice(0, 0, count);
  const Tensor ends = torch::cat({differs, edge}).slice(0, 0, count);
  const Tensor first = starts.logical_and(ends.logical_not()).nonzero();
  const Tensor anchor = sorted.order.index_select(0, first.flatten());
  const Tensor positive = sorted.order.index_select(0, first.flatten() + 1);
  RowInput rows;
  rows.rows = input.embeddings.index_select(0, anchor);
  rows.columns = input.embeddings.index_select(0, positive);
  const int64_t pairs = anchor.size(0);
  if (pairs > 0 && pairs <= kFewPairs) {
    const Tensor value = in_one_matrix(rows.rows, rows.columns);
    return {keep_bad_visible(value, input.embeddings),
            {{"pairs", static_cast<double>(pairs)}}};
  }
  rows.row_labels = rows.column_labels = input.labels.index_select(0, anchor);
  const RowOutput output = differentiable_rows(
      make_row_loss(NtXentParams{.temperature = 1}), rows, options_.limits());
  return {keep_bad_visible(output.value, input.embeddings),
          {{"pairs", static_cast<double>(output.rows)}}};
}

KITH_REGISTER(loss_registry(), "npairs_all", NpairsAll);

}  // namespace kith
