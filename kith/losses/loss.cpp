#include "kith/losses/loss.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/number_text.h"
#include "kith/ops/finite.h"

namespace kith {
namespace {

void check_device(const Tensor& x, const Tensor& other, const char* what) {
  TORCH_CHECK_VALUE(other.device() == x.device(), what, ": on ", other.device(),
                    ", but the embeddings are on ", x.device());
}

/// Lowest and highest of int64 numbers, waiting for the device once.
std::pair<int64_t, int64_t> range_of(const Tensor& numbers) {
  const auto [low, high] = numbers.aminmax();
  const Tensor both = torch::stack({low, high}).cpu();
  const int64_t* values = both.data_ptr<int64_t>();
  return {values[0], values[1]};
}

void check_classes(const Loss& loss, const Tensor& labels) {
  const auto [lowest, highest] = range_of(labels);
  TORCH_CHECK_VALUE(lowest >= 0 && highest < loss.classes(),
                    "this loss has parameters for ", loss.classes(),
                    " classes: labels must be 0 to ", loss.classes() - 1,
                    ", but are ", lowest, " to ", highest);
}

void check_tuples(const Loss& loss, const LossInput& input) {
  const std::vector<int64_t> widths = loss.tuple_widths();
  TORCH_CHECK_VALUE(!widths.empty(),
                    "this loss uses the whole batch and takes "
                    "no tuples (no miner)");
  const Tensor& tuples = input.tuples;
  TORCH_CHECK_VALUE(tuples.dim() == 2 && tuples.scalar_type() == at::kLong,
                    "tuples must be int64 [T, columns], got ", tuples.sizes());
  TORCH_CHECK_VALUE(
      std::count(widths.begin(), widths.end(), tuples.size(1)) > 0,
      "tuples must have ", c10::Join(" or ", widths), " columns, got ",
      tuples.size(1));
  if (tuples.numel() == 0) return;
  const auto [lowest, highest] = range_of(tuples);
  TORCH_CHECK_VALUE(lowest >= 0 && highest < input.embeddings.size(0),
                    "tuples hold positions ", lowest, " to ", highest,
                    ", but a batch of ", input.embeddings.size(0), " has 0 to ",
                    input.embeddings.size(0) - 1);
}

/// Virtual examples mix two positions of one class.
void check_mixed(const Loss& loss, const LossInput& input) {
  TORCH_CHECK_VALUE(loss.takes_mixed(),
                    "this loss takes no virtual examples (SiMix)");
  const Tensor& pairs = input.mixed.pairs;
  const Tensor& alphas = input.mixed.alphas;
  TORCH_CHECK_VALUE(pairs.dim() == 2 && pairs.size(1) == 2 &&
                        pairs.scalar_type() == at::kLong,
                    "pairs must be int64 [V, 2], got ", pairs.scalar_type(),
                    " ", pairs.sizes());
  TORCH_CHECK_VALUE(alphas.defined() && alphas.dim() == 1 &&
                        alphas.is_floating_point() &&
                        alphas.size(0) == pairs.size(0),
                    "alphas must be floating point [", pairs.size(0), "]");
  if (pairs.numel() == 0) return;
  TORCH_CHECK_VALUE(alphas.ge(0).logical_and(alphas.le(1)).all().item<bool>(),
                    "alphas must lie in [0, 1]");
  const int64_t count = input.embeddings.size(0);
  TORCH_CHECK_VALUE(
      pairs.min().item<int64_t>() >= 0 && pairs.max().item<int64_t>() < count,
      "pairs hold positions ", pairs.min().item<int64_t>(), " to ",
      pairs.max().item<int64_t>(), ", but a batch of ", count, " has 0 to ",
      count - 1);
  const Tensor labels =
      input.labels.index_select(0, pairs.to(input.labels.device()).flatten())
          .view({-1, 2});
  const Tensor differ =
      (labels.select(1, 0) != labels.select(1, 1)).nonzero().cpu();
  TORCH_CHECK_VALUE(differ.numel() == 0, "pair ",
                    differ.numel() == 0 ? 0 : differ[0][0].item<int64_t>(),
                    " (numbered from 0) mixes two classes");
  const Tensor self = (pairs.select(1, 0) == pairs.select(1, 1)).nonzero();
  TORCH_CHECK_VALUE(self.numel() == 0, "a pair mixes an example with itself");
}

void check_self(const LossInput& input) {
  const Tensor& self = input.database.self;
  const int64_t count = input.database.embeddings.size(0);
  TORCH_CHECK_VALUE(self.dim() == 1 && self.scalar_type() == at::kLong &&
                        self.size(0) == input.embeddings.size(0),
                    "the places of the batch in the database must be int64 [",
                    input.embeddings.size(0), "], got ", self.scalar_type(),
                    " ", self.sizes());
  check_device(input.embeddings, self, "the places in the database");
  if (self.numel() == 0) return;
  const auto [lowest, highest] = range_of(self);
  TORCH_CHECK_VALUE(lowest >= -1 && highest < count,
                    "the places of the batch in the database are ", lowest,
                    " to ", highest, ", but must be -1 (none) to ", count - 1);
  const Tensor inside = (self >= 0).nonzero().flatten();
  const Tensor differ =
      (input.labels.index_select(0, inside) !=
       input.database.labels.index_select(0, self.index_select(0, inside)));
  TORCH_CHECK_VALUE(!differ.any().item<bool>(),
                    "an example has another label in the database than in "
                    "the batch");
}

void check_database(const Loss& loss, const LossInput& input) {
  TORCH_CHECK_VALUE(loss.takes_database(),
                    "this loss compares the batch with itself and takes no "
                    "database");
  TORCH_CHECK_VALUE(!input.mixed.defined() && !input.tuples.defined(),
                    "SiMix and tuples are within a batch: not with a database");
  const Tensor& x = input.embeddings;
  const Tensor& y = input.database.embeddings;
  const Tensor& labels = input.database.labels;
  TORCH_CHECK_VALUE(y.dim() == 2 && y.size(1) == x.size(1) &&
                        y.scalar_type() == x.scalar_type(),
                    "the database must be ", x.scalar_type(), " [C, ",
                    x.size(1), "] as the embeddings, got ", y.scalar_type(),
                    " ", y.sizes());
  check_device(x, y, "the database");
  TORCH_CHECK_VALUE(labels.defined() && labels.dim() == 1 &&
                        labels.scalar_type() == at::kLong &&
                        labels.size(0) == y.size(0),
                    "the database's labels must be int64 [", y.size(0), "]");
  check_device(x, labels, "the database's labels");
  if (input.database.self.defined()) check_self(input);
}

void check_rows(const Tensor& rows, const char* what) {
  const int64_t row = first_bad_row(rows);
  TORCH_CHECK_VALUE(row < 0, "row ", row, " of the ", what,
                    " (numbered from 0) has a NaN or infinite value");
}

/// No loss hides a number that is not finite: the value tells, so that one
/// number is looked at and not all embeddings.
void check_value(const Loss& loss, const LossInput& input,
                 const Tensor& value) {
  if (all_finite(value)) return;
  check_rows(input.embeddings, "embeddings");
  if (input.database.defined())
    check_rows(input.database.embeddings, "database");
  const std::string name = first_bad_tensor(loss.named_parameters().pairs());
  TORCH_CHECK_VALUE(name.empty(), "the parameter '", name,
                    "' of the loss has a NaN or infinite value");
  const double largest = input.embeddings.abs().max().item<double>();
  throw RunError(std::string("the loss of these embeddings is too large for ") +
                 (value.scalar_type() == at::kDouble ? "float64" : "float32") +
                 ": their numbers are up to " + format_general(largest, 3) +
                 "; normalise them, or scale them down");
}

}  // namespace

LossRegistry& loss_registry() {
  static LossRegistry registry("loss");
  return registry;
}

LossOutput Loss::operator()(const LossInput& input) const {
  const Tensor& x = input.embeddings;
  TORCH_CHECK_VALUE(x.dim() == 2 && (x.scalar_type() == at::kFloat ||
                                     x.scalar_type() == at::kDouble),
                    "embeddings must be float32 or float64 [M, D], got ",
                    x.scalar_type(), " ", x.sizes());
  TORCH_CHECK_VALUE(input.labels.dim() == 1 &&
                        input.labels.scalar_type() == at::kLong &&
                        input.labels.size(0) == x.size(0),
                    "labels must be int64 [", x.size(0), "], got ",
                    input.labels.scalar_type(), " ", input.labels.sizes());
  check_device(x, input.labels, "labels");
  if (classes() > 0 && x.size(0) > 0) check_classes(*this, input.labels);
  if (input.tuples.defined()) check_tuples(*this, input);
  TORCH_CHECK_VALUE(input.mixed.defined() || !input.mixed.alphas.defined(),
                    "alphas need the pairs that they mix");
  if (input.mixed.defined()) check_mixed(*this, input);
  if (input.database.defined()) check_database(*this, input);
  const LossOutput output = forward(input);
  check_value(*this, input, output.value);
  return output;
}

}  // namespace kith
