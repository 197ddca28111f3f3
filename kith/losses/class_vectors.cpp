#include "kith/losses/class_vectors.h"

#include <algorithm>
#include <cmath>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include "kith/core/rng.h"
#include "kith/ops/known_gradient.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

const std::vector<std::string> kRowNames = {"proxies", "class_map"};
const std::vector<std::string> kColumnNames = {"W", "fc", "weight",
                                               "centroids"};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> all_names() {
  std::vector<std::string> names = kRowNames;
  names.insert(names.end(), kColumnNames.begin(), kColumnNames.end());
  return names;
}

}  // namespace

void check_given(const LossContext& context,
                 const std::vector<std::string>& names) {
  for (const auto& [name, tensor] : context.given) {
    TORCH_CHECK_VALUE(contains(names, name), "there is a tensor '", name,
                      "', but the parameters of this loss are called ",
                      join(names), ": rename it or leave it out");
    TORCH_CHECK_VALUE(tensor.is_floating_point(), "'", name,
                      "' must be floating point, got ", tensor.scalar_type());
  }
}

ClassVectors::ClassVectors(const LossContext& context, ClassInit init,
                           int64_t per_class)
    : per_class_(per_class) {
  if (context.given.empty()) {
    draw(context, init);
  } else {
    take(context);
  }
  values_.requires_grad_(true);
}

void ClassVectors::take(const LossContext& context) {
  check_given(context, all_names());
  TORCH_CHECK_VALUE(context.given.size() == 1,
                    "this loss has one tensor of class vectors, but '",
                    context.given[0].first, "' and '",
                    context.given.back().first, "' are given: keep one");
  std::tie(name_, values_) = context.given[0];
  columns_ = contains(kColumnNames, name_);
  const int64_t k = per_class_;
  const bool fits = columns_ ? values_.dim() == 2 && values_.size(1) % k == 0
                    : k == 1 ? values_.dim() == 2
                             : values_.dim() == 3 && values_.size(1) == k;
  const std::string wanted =
      k == 1 ? (columns_ ? "[D, C]" : "[C, D]")
             : (columns_ ? "[D, C * " + std::to_string(k) + "]"
                         : "[C, " + std::to_string(k) + ", D]");
  TORCH_CHECK_VALUE(fits && values_.numel() > 0, "'", name_, "' must be ",
                    wanted, " (C classes, D numbers in an embedding), got ",
                    values_.sizes());
  classes_ = columns_ ? values_.size(1) / k : values_.size(0);
  dim_ = columns_ ? values_.size(0) : values_.size(-1);
  TORCH_CHECK_VALUE(context.dim == 0 || context.dim == dim_, "'", name_,
                    "' is ", values_.sizes(), ", that is ", wanted, " with D ",
                    dim_, ", but embeddings have ", context.dim, " numbers");
}

void ClassVectors::draw(const LossContext& context, ClassInit init) {
  TORCH_CHECK_VALUE(context.classes > 0 && context.dim > 0,
                    "this loss learns vectors of classes and needs to know how "
                    "many classes there are and the size of an embedding "
                    "(LossContext::classes and dim), or the vectors (given)");
  classes_ = context.classes;
  dim_ = context.dim;
  at::Generator numbers = at::detail::createCPUGenerator(
      Rng(context.seed, Stream::kLossInit).next());
  values_ = per_class_ == 1
                ? torch::empty({classes_, dim_}, torch::kFloat)
                : torch::empty({classes_, per_class_, dim_}, torch::kFloat);
  const auto count = static_cast<double>(classes_ * per_class_);
  const double bound =
      1 / std::sqrt(init == ClassInit::kUniformDim ? static_cast<double>(dim_)
                                                   : count);
  switch (init) {
    case ClassInit::kUniformDim:
    case ClassInit::kUniformCount:
      values_.uniform_(-bound, bound, numbers);
      break;
    case ClassInit::kNormalEighth:
      values_.normal_(0, 1.0 / 8, numbers);
      break;
    case ClassInit::kHeCount:
      values_.normal_(0, std::sqrt(2 / count), numbers);
      break;
  }
}

ClassProducts ClassVectors::products(const Tensor& x, double scale) const {
  TORCH_CHECK_VALUE(x.size(1) == dim_, "embeddings have ", x.size(1),
                    " numbers, but the class vectors have ", dim_);
  // A view at each call, for the trainer moves the parameter between devices.
  Tensor rows = columns_ ? values_.t() : values_.reshape({-1, dim_});
  if (per_class_ > 1) {  // [C, K, D] -> [K, C, D]
    rows = rows.reshape({classes_, per_class_, dim_})
               .transpose(0, 1)
               .reshape({-1, dim_});
  }
  return {x, rows.to(x.scalar_type()), scale};
}

ClassProducts::ClassProducts(Tensor x, Tensor w, double scale)
    : x_(std::move(x)), w_(std::move(w)), scale_(scale) {
  const torch::NoGradGuard no_grad;
  // Divided before the norm, for classes whose vectors shrank or grew far.
  const Tensor scales = row_scales(w_);
  const Tensor scaled = w_ / scales;
  const Tensor norm = scaled.norm(2, 1, /*keepdim=*/true);
  const Tensor factor = scale / norm.masked_fill_(norm == 0, 1);
  factor_ = factor / scales;
  ends_ = scaled * factor;
  values_ = torch::mm(x_, ends_.t());
}

Tensor ClassProducts::connect(const SlopedValue& loss,
                              const Tensor& of_ends) const {
  if (!at::GradMode::is_enabled()) return loss.value;
  Tensor dx;
  Tensor dw;
  {
    const torch::NoGradGuard no_grad;
    if (x_.requires_grad()) dx = torch::mm(loss.slope, ends_);
    if (w_.requires_grad()) {
      dw = torch::mm(loss.slope.t(), x_);
      if (of_ends.defined()) dw.add_(of_ends);
      // Of a direction only what is across the vector is left.
      const Tensor along = (dw * ends_).sum(1, /*keepdim=*/true);
      dw.addcmul_(ends_, along, -1 / (scale_ * scale_)).mul_(factor_);
    }
  }
  return known_gradient(loss.value, {x_, w_}, {dx, dw});
}

void VectorTraining::describe(OptionSet& set, const std::string& note) {
  set.add("lr", lr,
          "Learning rate of the class vectors, before the schedule; 0: the "
          "optimiser's." +
              note)
      .range(0);
  set.add("decay", decay,
          "The optimiser's weight decay holds for the class vectors too.");
}

SlopedValue mean_cross_entropy(const Tensor& logits, const Tensor& labels,
                               double label_smoothing) {
  const double share =
      1 / static_cast<double>(std::max<int64_t>(logits.size(0), 1));
  const double of_own = share * (1 - label_smoothing);
  const Tensor own = labels.unsqueeze(1);
  Tensor log_p = logits.log_softmax(1);
  Tensor value = log_p.gather(1, own).sum() * -of_own;
  const double of_each =
      share * label_smoothing / static_cast<double>(logits.size(1));
  if (of_each > 0) value = value - log_p.sum() * of_each;
  Tensor slope = log_p.exp_().mul_(share);
  if (of_each > 0) slope.sub_(of_each);
  return {value, slope.scatter_add_(
                     1, own, torch::full_like(own, -of_own, slope.options()))};
}

void describe_label_smoothing(OptionSet& set, double& label_smoothing) {
  set.add("label_smoothing", label_smoothing,
          "This share of each target is divided among all classes; 0: none.")
      .range(0, 1);
}

}  // namespace kith
