#include "kith/losses/hist.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <torch/torch.h>

#include "kith/core/rng.h"
#include "kith/losses/class_vectors.h"
#include "kith/ops/hypergraph.h"

namespace kith {
namespace {

struct HistSizes {
  int64_t classes = 0;
  int64_t dim = 0;
  int64_t hidden = 0;
};

/// What HIST learns: theta1_weight [H, D], theta1_bias [H], bn1_weight [H],
/// bn1_bias [H], theta2_weight [C, H], theta2_bias [C], and, if wanted, means
/// [C, D] and log_vars [C, D].
struct HistParameters {
  HistSizes sizes;
  NamedTensors tensors;
};

/// Undefined if there is none of this name.
Tensor find_tensor(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  return {};
}

enum class Start { kHeNormal, kUniform, kOne, kZero };

struct Shape {
  std::string name;
  std::vector<int64_t> sizes;
  Start start;
  int64_t fan = 1;  ///< Rows (He-normal), or inputs of the layer (uniform).
};

std::vector<Shape> shapes_of(const HistSizes& n, bool means, bool log_vars) {
  std::vector<Shape> all = {
      {"theta1_weight", {n.hidden, n.dim}, Start::kUniform, n.dim},
      {"theta1_bias", {n.hidden}, Start::kUniform, n.dim},
      {"bn1_weight", {n.hidden}, Start::kOne},
      {"bn1_bias", {n.hidden}, Start::kZero},
      {"theta2_weight", {n.classes, n.hidden}, Start::kUniform, n.hidden},
      {"theta2_bias", {n.classes}, Start::kUniform, n.hidden}};
  const std::vector<int64_t> table = {n.classes, n.dim};
  if (means) all.push_back({"means", table, Start::kHeNormal, n.classes});
  if (log_vars) all.push_back({"log_vars", table, Start::kHeNormal, n.classes});
  return all;
}

/// He-normal with fan_out is N(0, 2 / rows); uniform in +- 1 / sqrt(inputs).
Tensor first_value(const Shape& shape, uint64_t seed) {
  const auto generator = torch::make_generator<at::CPUGeneratorImpl>(seed);
  const auto fan = static_cast<double>(std::max<int64_t>(shape.fan, 1));
  switch (shape.start) {
    case Start::kHeNormal:
      return torch::randn(shape.sizes, generator) * std::sqrt(2 / fan);
    case Start::kUniform:
      return (torch::rand(shape.sizes, generator) * 2 - 1) / std::sqrt(fan);
    case Start::kOne:
      return torch::ones(shape.sizes);
    case Start::kZero:
      break;
  }
  return torch::zeros(shape.sizes);
}

/// Classes, dimensions and hidden units as two matrices of the given ones say.
HistSizes sizes_of(const NamedTensors& given) {
  const Tensor first = find_tensor(given, "theta1_weight");
  const Tensor second = find_tensor(given, "theta2_weight");
  TORCH_CHECK_VALUE(first.defined() && first.dim() == 2 && second.defined() &&
                        second.dim() == 2,
                    "hist: parameters that are given need 'theta1_weight' "
                    "[hidden, dim] and 'theta2_weight' [classes, hidden]");
  return {second.size(0), first.size(1), first.size(0)};
}

HistSizes sizes_of(const LossContext& context, int64_t hidden) {
  if (context.given.empty()) return {context.classes, context.dim, hidden};
  const HistSizes sizes = sizes_of(context.given);
  TORCH_CHECK_VALUE(context.dim == 0 || context.dim == sizes.dim,
                    "hist: 'theta1_weight' is for ", sizes.dim,
                    " dimensions, but embeddings have ", context.dim);
  return sizes;
}

Tensor taken(const NamedTensors& given, const Shape& shape) {
  const Tensor value = find_tensor(given, shape.name);
  TORCH_CHECK_VALUE(value.defined(), "hist: the parameter '", shape.name,
                    "' is missing: give all or none");
  TORCH_CHECK_VALUE(value.sizes() == shape.sizes, "hist: '", shape.name,
                    "' must be ", at::IntArrayRef(shape.sizes), ", got ",
                    value.sizes());
  return value.detach().clone();
}

/// Those that the context gives, or new ones: He-normal (fan_out) means and
/// log-variances, layers as LibTorch starts its linear ones. c10::ValueError if
/// it gives some but not all that are wanted, or others, or neither gives them
/// nor says how many classes there are.
HistParameters make_hist_parameters(const LossContext& context, int64_t hidden,
                                    bool means, bool log_vars) {
  HistParameters made;
  made.sizes = sizes_of(context, hidden);
  TORCH_CHECK_VALUE(made.sizes.classes > 0 && made.sizes.dim > 0,
                    "hist has parameters for each class and needs to know how "
                    "many classes there are and the size of an embedding "
                    "(LossContext::classes and dim)");
  const bool draw = context.given.empty();
  Rng rng(context.seed, Stream::kLossInit);
  std::vector<std::string> names;
  for (const Shape& shape : shapes_of(made.sizes, means, log_vars)) {
    made.tensors.emplace_back(shape.name, draw ? first_value(shape, rng.next())
                                               : taken(context.given, shape));
    names.push_back(shape.name);
  }
  check_given(context, names);
  return made;
}

}  // namespace

const char* const Hist::kSummary =
    "HIST: class distributions and a hypergraph network (Lim et al., 2022)";

const PartFacts Hist::kFacts = {
    .formula =
        "m_ic = sum_f (x_if - mu_cf)^2 / exp(v_cf)\n"
        "L_D  = mean_i -log softmax_c(-tau m_ic)[y_i]\n"
        "H_ic = 1 if y_i = c, else exp(-alpha m_ic), c a class of the batch\n"
        "G    = Dv^-1/2 H De^-1 H^T Dv^-1/2, Dv and De row and column sums\n"
        "Z1   = LeakyReLU_0.1(BatchNorm(G Theta1 z))\n"
        "L_CE = mean_i -log softmax_c(G Theta2 Z1)[y_i]\n"
        "loss = L_D + lambda_s L_CE\n"
        "z: embeddings, x = z / |z|, mu: unit means, v: log-variances "
        "clamped to [0, 6]",
    .source = "Lim et al., CVPR 2022",
    .cost =
        "O(M C (D + H + B)) time, O(M (C + D + H) + C (D + H)) memory for C "
        "classes, B of them in the batch, and H hidden units",
    .golden = "hist"};

void HistOptions::describe(OptionSet& set) {
  set.add("tau", tau, "Scale of the distances in the loss of distributions.")
      .positive();
  set.add("alpha", alpha,
          "How fast the part of an example in the tuple of another class "
          "falls with its distance; 0: all belong to all.")
      .range(0);
  set.add("lambda_s", lambda_s, "Weight of the network's cross entropy.")
      .range(0);
  set.add("hidden", hidden, "Width of the network's hidden layer.")
      .range(1, 1 << 20);
  set.add("lr_distributions", lr_distributions,
          "Learning rate of means and variances; 0: the optimiser's.")
      .range(0);
  set.add("lr_hgnn", lr_hgnn,
          "Learning rate of the network's layers; 0: the optimiser's.")
      .range(0);
  set.add("decay", decay,
          "The optimiser's weight decay holds for all of them too, as in the "
          "published code.");
  set.add("ablation", ablation,
          "What is left out or replaced, as in the paper's ablations. "
          "baseline: each example is classified alone; attention: examples "
          "exchange by attention instead of hyperedges; positives: a tuple "
          "holds only its class; no_distribution_loss; proxies: all "
          "variances are 1.")
      .choices({"none", "baseline", "attention", "positives",
                "no_distribution_loss", "proxies"});
}

Hist::Hist(Options options, const LossContext& context)
    : options_(checked(std::move(options), "hist")) {
  const HistParameters made = make_hist_parameters(
      context, options_.hidden, has_means(), has_variances());
  classes_ = made.sizes.classes;
  dim_ = made.sizes.dim;
  for (const auto& [name, tensor] : made.tensors) {
    register_parameter(name, tensor);
  }
}

double Hist::parameter_lr(const std::string& name) const {
  return name == "means" || name == "log_vars" ? options_.lr_distributions
                                               : options_.lr_hgnn;
}

LossOutput Hist::forward(const LossInput& input) const {
  const Tensor& z = input.embeddings;
  TORCH_CHECK_VALUE(z.size(1) == dim_, "hist has parameters for ", dim_,
                    " dimensions, but the embeddings have ", z.size(1));
  if (z.size(0) == 0) return {z.sum() * 0, {}};
  if (is("baseline")) {
    return {classify(input, [](const Tensor& y) { return y; }), {}};
  }
  if (is("attention")) return {with_attention(input), {}};
  return with_tuples(input);
}

bool Hist::has_means() const {
  return is("none") || is("proxies") || is("no_distribution_loss");
}

Tensor Hist::parameter(const char* name, const Tensor& like) const {
  const Tensor* value = parameters_.find(name);
  return value == nullptr ? Tensor() : value->to(like.options());
}

Tensor Hist::classify(const LossInput& input, const Spread& spread) const {
  const Tensor& z = input.embeddings;
  const Hgnn network = {
      parameter("theta1_weight", z), parameter("theta1_bias", z),
      parameter("bn1_weight", z),    parameter("bn1_bias", z),
      parameter("theta2_weight", z), parameter("theta2_bias", z)};
  return options_.lambda_s *
         torch::cross_entropy_loss(network.classify(z, spread), input.labels);
}

Tensor Hist::with_attention(const LossInput& input) const {
  const Tensor& z = input.embeddings;
  const double scale = 1 / std::sqrt(static_cast<double>(z.size(1)));
  const Tensor weights = torch::mm(z * scale, z.t()).softmax(1);  // [M, M]
  return classify(input,
                  [&](const Tensor& y) { return torch::mm(weights, y); });
}

LossOutput Hist::with_tuples(const LossInput& input) const {
  const Tensor& z = input.embeddings;
  const Tensor classes = classes_in(input.labels);
  Tensor distances;  // [M, C]
  if (has_means()) {
    distances =
        class_distances(z, parameter("means", z), parameter("log_vars", z));
  }
  const Tensor incidence =
      has_means()
          ? semantic_tuples(distances, input.labels, classes, options_.alpha)
          : membership(input.labels, classes).to(z.scalar_type());
  const Hypergraph graph(incidence);
  Tensor value =
      classify(input, [&](const Tensor& y) { return graph.spread(y); });
  if (is("none") || is("proxies")) {
    value = value +
            torch::cross_entropy_loss(distances * -options_.tau, input.labels);
  }
  return {value, {{"classes", static_cast<double>(classes.size(0))}}};
}

KITH_REGISTER(loss_registry(), "hist", Hist);

}  // namespace kith
