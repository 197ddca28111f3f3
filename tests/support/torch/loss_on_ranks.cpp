#include "tests/support/torch/loss_on_ranks.h"

#include <limits>

#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

FoundLoss found_by(const Loss& loss, const LossInput& input) {
  const LossGradient result = differentiate(loss, input);
  FoundLoss found{
      result.value, result.gradient, {}, 0, input.embeddings.size(0)};
  for (const auto& [name, value] : loss.named_parameters().pairs()) {
    found.learnt.push_back(value.grad());
  }
  return found;
}

}  // namespace

Tensor labels_for_ranks() {
  return labels_of({7, -2, 7,  40, 3, -2, 7,  11, 40, 7, -2, 3,
                    7, 40, -2, 7,  5, 7,  40, 5,  11, 5, 40});
}

Tensor embeddings_for_ranks(at::ScalarType type) {
  return normalize_rows(random_normal({labels_for_ranks().size(0), 6}, 1))
      .to(type);
}

std::unique_ptr<Loss> make_subject(const LossSubject& subject, const Tensor& x,
                                   const std::string& options) {
  return make_loss_for("{name: " + subject.name + options + "}", x,
                       count_classes(labels_for_ranks()) + 2);
}

bool takes_simix(const LossSubject& subject) {
  if (subject.width > 0) return false;
  return make_subject(subject, torch::zeros({1, 6}, torch::kDouble), "")
      ->takes_mixed();
}

FoundLoss find_alone(const LossSubject& subject, const Tensor& x,
                     const std::string& options) {
  const std::unique_ptr<Loss> loss = make_subject(subject, x, options);
  return found_by(*loss,
                  input_for(*loss, x, labels_for_ranks(), subject.width));
}

FoundLoss find_as_rank(const LossSubject& subject, const Tensor& x,
                       Communicator& ranks, int64_t lanes,
                       const std::string& options) {
  const std::unique_ptr<Loss> loss = make_subject(subject, x, options);
  LossInput input = input_for(*loss, x, labels_for_ranks(), subject.width);
  BatchLanes batch{ranks, Lanes(lanes, ranks), {}};
  for (int64_t r = 0; r <= ranks.size(); ++r) {
    batch.begins.push_back(x.size(0) * r / ranks.size());
  }
  input.lanes = &batch;
  FoundLoss found = found_by(*loss, input);
  found.begin = batch.begin();
  found.end = batch.end();
  return found;
}

double relative_difference(const Tensor& got, const Tensor& wanted) {
  if (got.defined() != wanted.defined()) {
    return std::numeric_limits<double>::infinity();
  }
  if (!wanted.defined() || wanted.numel() == 0) return 0;
  const double difference = max_difference(got, wanted);
  return difference == 0 ? 0 : difference / wanted.abs().max().item<double>();
}

}  // namespace kith
