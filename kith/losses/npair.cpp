#include <torch/torch.h>

#include "kith/losses/row_loss.h"
#include "kith/losses/rows/nt_xent.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

struct NpairOptions : RowOptions {
  double l2 = 0.005;
  std::string penalty = "squared_norm";

  void describe(OptionSet& set) {
    set.add("l2", l2, "Weight of the embeddings' norms.").range(0);
    set.add("penalty", penalty,
            "Mean of squared norms, or of norms as the published study's code.")
        .choices({"squared_norm", "norm"});
    RowOptions::describe(set);
  }
};

/// N-pair loss (Sohn, NeurIPS 2016) on the embeddings as they are.
///
///     l(a,p) = log(1 + sum_{n in N_a} e^{e_a.e_n - e_a.e_p})
///     loss = mean over tuples of l(a,p) + l2 * mean |e|^2
///
/// One positive an anchor comes with the tuples (a, p, ...); without tuples
/// each anchor takes the next example of its class in the batch.
class NpairLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "N-pair against all negatives of the batch (Sohn, NeurIPS 2016)";
  using Options = NpairOptions;

  explicit NpairLoss(Options options) : options_(std::move(options)) {
    params_.temperature = 1;
  }

  std::vector<int64_t> tuple_widths() const override { return {2, 3}; }
  bool wants_unit() const override { return false; }
  bool depends_on_order() const override { return true; }

  LossOutput forward(const LossInput& input) const override {
    const Tensor pairs = input.tuples.defined() ? input.tuples.slice(1, 0, 2)
                                                : next_of_class(input.labels);
    RowInput rows;
    const Tensor anchor = pairs.select(1, 0).contiguous();
    rows.rows = input.embeddings.index_select(0, anchor);
    rows.row_labels = input.labels.index_select(0, anchor);
    rows.columns = input.embeddings;
    rows.column_labels = input.labels;
    rows.self = anchor;
    rows.target = pairs.select(1, 1).contiguous();
    TORCH_CHECK_VALUE(
        (input.labels.index_select(0, rows.target) == rows.row_labels)
            .all()
            .item<bool>(),
        "npair needs positives in the second column of the tuples: an anchor "
        "and its positive must have the same label");
    const RowOutput output =
        differentiable_rows(make_row_loss(params_), rows, options_.limits());
    const Tensor penalty = norm_penalty(input.embeddings, options_.l2,
                                        options_.penalty == "squared_norm");
    return {output.value + penalty,
            {{"pairs", static_cast<double>(output.rows)}}};
  }

 private:
  /// [T, 2] each example that has a positive, and the next one of its class,
  /// the first after the last.
  static Tensor next_of_class(const Tensor& labels) {
    const SortedSet sorted = sort_by_label(labels);
    const ClassRanges ranges = class_ranges(sorted.labels, sorted.labels);
    const Tensor place = torch::arange(labels.size(0), labels.options());
    const Tensor next =
        torch::where(place + 1 < ranges.last, place + 1, ranges.first);
    const Tensor paired = (next != place).nonzero().flatten();
    return torch::stack(
        {sorted.order.index_select(0, paired),
         sorted.order.index_select(0, next.index_select(0, paired))},
        1);
  }

  Options options_;
  NtXentParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "npair", NpairLoss);

}  // namespace kith
