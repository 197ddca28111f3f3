#include "kith/eval/first_answers.h"

#include <algorithm>

#include "kith/eval/relevance.h"
#include "kith/eval/similarity_cells.h"
#include "kith/index/flat.h"

namespace kith {
namespace {

double weight_of(const FirstAnswer& answer, GroupWeights weights) {
  return weights == nullptr ? 1 : weights[answer.group];
}

/// Calls visit(answer, weight, cell) from the most similar answer on; `cell` is
/// the least that accepts this answer and not the next less similar one, -1 in
/// the midst of equal ones.
template <class Visit>
void walk_down(const std::vector<FirstAnswer>& answers, GroupWeights weights,
               const Visit& visit) {
  for (size_t i = 0; i < answers.size() && answers[i].cell >= 0; ++i) {
    const int64_t next = i + 1 < answers.size() ? answers[i + 1].cell : -1;
    visit(answers[i], weight_of(answers[i], weights),
          next == answers[i].cell ? -1 : next + 1);
  }
}

}  // namespace

std::vector<FirstAnswer> first_answers(const Scored& scored,
                                       const ClassGroups& groups,
                                       int64_t memory_mb) {
  const Relevance relevance(scored);
  const bool apart = scored.gallery.defined();
  const Neighbours nearest =
      exact_search(scored.queries, apart ? scored.gallery : scored.queries,
                   relevance.self(), {1, memory_mb});
  const int64_t* query_labels = scored.query_labels.data_ptr<int64_t>();
  const int64_t* gallery_labels =
      (apart ? scored.gallery_labels : scored.query_labels).data_ptr<int64_t>();
  std::vector<FirstAnswer> answers;
  for (int64_t q = 0; q < relevance.queries(); ++q) {
    FirstAnswer answer;
    answer.group = groups.of_query[static_cast<size_t>(q)];
    answer.is_mated = relevance.positives(q) > 0;
    const int64_t found = nearest.indices.numel() == 0
                              ? -1
                              : nearest.indices.data_ptr<int64_t>()[q];
    if (found >= 0) {
      answer.cell = cell_of(
          static_cast<double>(nearest.similarities.data_ptr<float>()[q]));
      answer.is_right = gallery_labels[found] == query_labels[q];
    }
    answers.push_back(answer);
  }
  std::stable_sort(answers.begin(), answers.end(),
                   [](const FirstAnswer& a, const FirstAnswer& b) {
                     return a.cell > b.cell;
                   });
  return answers;
}

std::vector<AnswerCounts> count_answers(const std::vector<FirstAnswer>& answers,
                                        const std::vector<int64_t>& cells,
                                        GroupWeights weights) {
  AnswerCounts counts;
  for (const FirstAnswer& answer : answers) {
    const double weight = weight_of(answer, weights);
    counts.all += weight;
    (answer.is_mated ? counts.mated : counts.non_mated) += weight;
  }
  std::vector<AnswerCounts> at(cells.size());
  size_t next = 0;
  for (size_t t = cells.size(); t-- > 0;) {
    for (; next < answers.size() && answers[next].cell >= 0 &&
           answers[next].cell >= cells[t];
         ++next) {
      const FirstAnswer& answer = answers[next];
      const double weight = weight_of(answer, weights);
      counts.accepted += weight;
      if (answer.is_right) counts.right += weight;
      if (!answer.is_mated) counts.non_mated_accepted += weight;
    }
    at[t] = counts;
  }
  return at;
}

std::optional<int64_t> cell_for_precision(
    const std::vector<FirstAnswer>& answers, double precision,
    GroupWeights weights) {
  std::optional<int64_t> least;
  double accepted = 0;
  double right = 0;
  walk_down(answers, weights,
            [&](const FirstAnswer& answer, double weight, int64_t cell) {
              accepted += weight;
              if (answer.is_right) right += weight;
              if (cell >= 0 && accepted > 0 && right / accepted >= precision) {
                least = cell;
              }
            });
  return least;
}

std::optional<int64_t> cell_for_fpir(const std::vector<FirstAnswer>& answers,
                                     double fpir, GroupWeights weights) {
  double all = 0;
  for (const FirstAnswer& answer : answers) {
    if (!answer.is_mated) all += weight_of(answer, weights);
  }
  int64_t least = 0;
  double accepted = 0;
  for (const FirstAnswer& answer : answers) {
    if (answer.is_mated || answer.cell < 0) continue;
    accepted += weight_of(answer, weights);
    if (accepted / all <= fpir) continue;
    least = answer.cell + 1;
    break;
  }
  if (least == kCells) return std::nullopt;
  return least;
}

}  // namespace kith
