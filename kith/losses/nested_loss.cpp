#include "kith/losses/nested_loss.h"

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

void check_sizes(const NestedSizes& nested, const LossContext& context) {
  const std::vector<int64_t>& sizes = nested.sizes;
  TORCH_CHECK_VALUE(!sizes.empty() && sizes.front() > 0,
                    "a nested loss needs sizes, each at least 1");
  for (size_t i = 1; i < sizes.size(); ++i) {
    TORCH_CHECK_VALUE(sizes[i - 1] < sizes[i],
                      "the sizes of a nested loss must rise, got ", sizes);
  }
  TORCH_CHECK_VALUE(
      nested.weights.empty() || nested.weights.size() == sizes.size(),
      "a nested loss of ", sizes.size(), " sizes needs as many weights, got ",
      nested.weights.size());
  TORCH_CHECK_VALUE(context.given.empty(),
                    "parameters cannot be given to a nested loss");
}

}  // namespace

NestedLoss::NestedLoss(NestedSizes sizes, const LossContext& context,
                       const Make& make)
    : sizes_(std::move(sizes)) {
  check_sizes(sizes_, context);
  for (const int64_t size : sizes_.sizes) {
    LossContext part = context;
    part.dim = size;
    std::shared_ptr<Loss> loss = make(part);
    if (!losses_.empty() && losses_.front() == loss &&
        !loss->parameters().empty()) {
      throw ConfigError(
          "'model.head.nested' needs a loss for each size, and this one is an "
          "object with parameters for one: give its class and options instead, "
          "as part<Type>(options)");
    }
    losses_.push_back(register_module(std::to_string(size), loss));
  }
}

double NestedLoss::parameter_lr(const std::string& name) const {
  return whole().parameter_lr(name.substr(name.find('.') + 1));
}

/// The first numbers of each row, as long as the whole is.
Tensor NestedLoss::first(const Tensor& rows, int64_t size) const {
  if (size == rows.size(1)) return rows;
  const Tensor part = rows.narrow(1, 0, size);
  return sizes_.unit ? normalize_rows(part) : part.contiguous();
}

LossOutput NestedLoss::forward(const LossInput& input) const {
  TORCH_CHECK_VALUE(input.embeddings.size(1) == sizes_.sizes.back(),
                    "this loss is for embeddings of ", sizes_.sizes.back(),
                    " numbers, got ", input.embeddings.size(1));
  LossOutput sum;
  for (size_t i = 0; i < losses_.size(); ++i) {
    const int64_t size = sizes_.sizes[i];
    LossInput part = input;
    part.embeddings = first(input.embeddings, size);
    if (input.database.defined()) {
      part.database.embeddings = first(input.database.embeddings, size);
    }
    LossOutput output = losses_[i]->unchecked(part);
    const double weight = sizes_.weights.empty() ? 1 : sizes_.weights[i];
    const Tensor value = weight * output.value;
    sum.value = i == 0 ? value : sum.value + value;
    sum.stats = std::move(output.stats);
  }
  return sum;
}

}  // namespace kith
