#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kith/losses/loss.h"

namespace kith {

/// What a test of every registered loss goes over: a loss, and what it is
/// given.
struct LossSubject {
  std::string name;
  int64_t width = 0;  ///< Columns of the tuples; 0: none, the whole batch.

  /// A name for GoogleTest.
  std::string test_name() const;
};

/// How GoogleTest shows a subject.
inline void PrintTo(const LossSubject& subject, std::ostream* out) {
  *out << subject.name << " with tuples of " << subject.width;
}

/// Every registered loss: on the whole batch unless it must have tuples, and on
/// tuples of each width that it takes.
std::vector<LossSubject> loss_subjects();

/// The first subject of each loss.
std::vector<LossSubject> first_loss_subjects();

/// A loss for embeddings [M, dim] of this type and device. Its parameters, if
/// it has any, are of the same type and, but for rounding, have the same values
/// in all types.
std::unique_ptr<Loss> make_loss_for(const std::string& yaml,
                                    const Tensor& embeddings, int64_t classes);

/// A batch for a loss: labels become 0 to C - 1 if it has parameters for
/// classes, and there are random tuples of `width` columns unless that is 0.
LossInput input_for(const Loss& loss, const Tensor& embeddings,
                    const Tensor& labels, int64_t width);

/// The number of different labels, and each label's place among them.
int64_t count_classes(const Tensor& labels);
Tensor class_numbers(const Tensor& labels);

}  // namespace kith
