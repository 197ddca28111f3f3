#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kith/eval/group_draws.h"
#include "kith/eval/scored.h"

namespace kith {

/// What a search finds first, which is accepted at a threshold t if its
/// similarity is at least t (similarity_cells.h).
struct FirstAnswer {
  int64_t cell = -1;      ///< -1: nothing was found, so nothing is accepted.
  bool is_right = false;  ///< Of the query's class.
  bool is_mated = false;  ///< The gallery has something of that class.
  int64_t group = 0;      ///< Of the query, for a bootstrap.
};

/// The first answers of all queries, most similar first. `scored` is checked,
/// with labels.
std::vector<FirstAnswer> first_answers(const Scored& scored,
                                       const ClassGroups& groups,
                                       int64_t memory_mb);

/// How much an answer of each group counts; null: every one once.
using GroupWeights = const double*;

/// Sums of the weights of answers at a threshold.
struct AnswerCounts {
  double all = 0;
  double accepted = 0;
  double right = 0;  ///< Accepted and right.
  double mated = 0;
  double non_mated = 0;
  double non_mated_accepted = 0;

  // NaN where there is nothing to share.
  double precision() const { return right / accepted; }
  double coverage() const { return accepted / all; }
  double tpir() const { return right / mated; }
  double fpir() const { return non_mated_accepted / non_mated; }
};

/// At rising cells.
std::vector<AnswerCounts> count_answers(const std::vector<FirstAnswer>& answers,
                                        const std::vector<int64_t>& cells,
                                        GroupWeights weights = nullptr);

/// The least cell at which at least this share of the accepted answers is
/// right, which accepts most; none if there is none.
std::optional<int64_t> cell_for_precision(
    const std::vector<FirstAnswer>& answers, double precision,
    GroupWeights weights = nullptr);

/// The least cell at which at most this share of the searches that are not
/// mated is accepted; none if even a threshold of 1 accepts more.
std::optional<int64_t> cell_for_fpir(const std::vector<FirstAnswer>& answers,
                                     double fpir,
                                     GroupWeights weights = nullptr);

}  // namespace kith
