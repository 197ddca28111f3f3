#include "tests/support/torch/loss_subjects.h"

#include <torch/torch.h>

#include "kith/miners/random.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

bool takes(const Loss& loss, const LossInput& input) {
  try {
    loss(input);
  } catch (const c10::ValueError&) {
    return false;
  }
  return true;
}

Tensor random_triplets(const Tensor& embeddings, const Tensor& labels) {
  return RandomMiner()(embeddings, labels, /*seed=*/5);
}

/// Triplets with a second negative of a third class, the first after the
/// negative in the batch; those for which there is none are left out.
Tensor quadruplets(const Tensor& triplets, const Tensor& labels) {
  const Tensor label = labels.index_select(0, triplets.flatten()).view({-1, 3});
  std::vector<int64_t> all;
  for (int64_t t = 0; t < triplets.size(0); ++t) {
    const Tensor third =
        (labels != label[t][0]).logical_and(labels != label[t][2]);
    for (int64_t step = 1; step < labels.size(0); ++step) {
      const int64_t at =
          (triplets[t][2].item<int64_t>() + step) % labels.size(0);
      if (!third[at].item<bool>()) continue;
      for (int64_t c = 0; c < 3; ++c) {
        all.push_back(triplets[t][c].item<int64_t>());
      }
      all.push_back(at);
      break;
    }
  }
  return labels_of(all).view({-1, 4}).to(triplets.device());
}

}  // namespace

std::string LossSubject::test_name() const {
  return width == 0 ? name : name + "_tuples_of_" + std::to_string(width);
}

std::vector<LossSubject> loss_subjects() {
  const Tensor x = normalize_rows(random_normal({8, 4}, 1));
  const Tensor labels = labels_of({0, 1, 2, 3, 0, 1, 2, 3});
  std::vector<LossSubject> all;
  for (const std::string& name : loss_registry().names()) {
    const auto loss = make_loss_for("{name: " + name + "}", x, 4);
    const std::vector<int64_t> widths = loss->tuple_widths();
    if (widths.empty() || takes(*loss, input_for(*loss, x, labels, 0))) {
      all.push_back({name, 0});
    }
    for (const int64_t width : widths) all.push_back({name, width});
  }
  return all;
}

std::vector<LossSubject> first_loss_subjects() {
  std::vector<LossSubject> first;
  for (const LossSubject& subject : loss_subjects()) {
    if (first.empty() || first.back().name != subject.name) {
      first.push_back(subject);
    }
  }
  return first;
}

std::unique_ptr<Loss> make_loss_for(const std::string& yaml,
                                    const Tensor& embeddings, int64_t classes) {
  LossContext context;
  context.classes = classes;
  context.dim = embeddings.size(1);
  context.seed = 7;
  auto loss = make_loss(yaml, context);
  for (const auto& [name, value] : loss->named_parameters().pairs()) {
    context.given.emplace_back(
        name, value.detach().to(embeddings.device(), embeddings.scalar_type(),
                                /*non_blocking=*/false, /*copy=*/true));
  }
  return context.given.empty() ? std::move(loss) : make_loss(yaml, context);
}

LossInput input_for(const Loss& loss, const Tensor& embeddings,
                    const Tensor& labels, int64_t width) {
  LossInput input;
  input.embeddings = embeddings;
  input.labels = loss.classes() > 0 ? class_numbers(labels) : labels;
  input.seed = 13;
  if (width == 0) return input;
  const Tensor triplets = random_triplets(embeddings, labels);
  const auto columns = [&](int64_t a, int64_t b) {
    return torch::stack({triplets.select(1, a), triplets.select(1, b)}, 1);
  };
  if (width == 4) {
    input.tuples = quadruplets(triplets, labels);
  } else if (width == 3) {
    input.tuples = triplets;
  } else {
    input.tuples = torch::cat({columns(0, 1), columns(0, 2)});
    // Some losses want pairs of positives only.
    if (!takes(loss, input)) input.tuples = columns(0, 1);
  }
  return input;
}

int64_t count_classes(const Tensor& labels) {
  return std::get<0>(at::_unique2(labels)).size(0);
}

Tensor class_numbers(const Tensor& labels) {
  return std::get<1>(
      at::_unique2(labels, /*sorted=*/true, /*return_inverse=*/true));
}

}  // namespace kith
