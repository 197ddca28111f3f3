#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/distributed/communicator.h"
#include "tests/support/torch/loss_subjects.h"

namespace kith {

/// What a loss gives of a batch.
struct FoundLoss {
  double value = 0;
  Tensor gradient;
  std::vector<Tensor> learnt;  ///< Gradients of the loss's parameters.
  int64_t begin = 0;           ///< The rows of the gradient that
  int64_t end = 0;             ///< this rank has.
};

/// The batch with which losses on ranks are compared with those on one: 23
/// vectors in shuffled classes of 1 to 7.
Tensor labels_for_ranks();
Tensor embeddings_for_ranks(at::ScalarType type);

/// The loss of a subject; `options` are more of its keys, such as
/// ", simix: true".
std::unique_ptr<Loss> make_subject(const LossSubject& subject, const Tensor& x,
                                   const std::string& options);

/// Whether it takes virtual examples.
bool takes_simix(const LossSubject& subject);

/// By a process that knows nothing of ranks.
FoundLoss find_alone(const LossSubject& subject, const Tensor& x,
                     const std::string& options);

/// By one of several. `lanes` 0: one a rank.
FoundLoss find_as_rank(const LossSubject& subject, const Tensor& x,
                       Communicator& ranks, int64_t lanes,
                       const std::string& options);

/// The greatest difference, divided by the greatest number of `wanted`; of
/// tensors that are both not defined, 0, if one is, infinity.
double relative_difference(const Tensor& got, const Tensor& wanted);

}  // namespace kith
