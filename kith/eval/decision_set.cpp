#include "kith/eval/decision_set.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/number_text.h"
#include "kith/eval/class_index.h"
#include "kith/eval/open_set.h"
#include "kith/eval/relevance.h"
#include "kith/eval/similarity_cells.h"
#include "kith/index/tell_others.h"

namespace kith {
namespace {

ScoredSet pairs_of(const Scored& scored, const DecisionOptions& options) {
  const bool apart = scored.gallery.defined();
  ScoredSet set;
  set.queries = scored.queries;
  set.query_labels = scored.query_labels;
  set.gallery = apart ? scored.gallery : scored.queries;
  set.gallery_labels = apart ? scored.gallery_labels : scored.query_labels;
  set.self = Relevance(scored).self();
  set.memory_mb = options.memory_mb;
  set.ranks = options.ranks;
  return set;
}

/// Those of the gallery's classes that are to be unknown.
std::vector<int64_t> unknown_of(const Tensor& gallery_labels,
                                const DecisionOptions& options) {
  if (options.unknown_labels.empty()) {
    return draw_unknown(gallery_labels, options.unknown, options.seed);
  }
  const std::vector<int64_t> items = label_vector(gallery_labels);
  const std::set<int64_t> there(items.begin(), items.end());
  std::set<int64_t> unknown;
  for (const int64_t label : options.unknown_labels) {
    if (there.contains(label)) unknown.insert(label);
  }
  return {unknown.begin(), unknown.end()};
}

[[noreturn]] void throw_too_few(const std::string& count,
                                const std::string& wanted) {
  throw DataError("option 'threshold': " + count + " cannot show " + wanted +
                  "; ask for less, or give more images");
}

/// The best precision that any threshold gives to some first answers.
double best_precision(const std::vector<FirstAnswer>& answers) {
  double best = 0;
  double accepted = 0;
  double right = 0;
  for (size_t i = 0; i < answers.size() && answers[i].cell >= 0; ++i) {
    ++accepted;
    if (answers[i].is_right) ++right;
    const bool is_last =
        i + 1 == answers.size() || answers[i + 1].cell != answers[i].cell;
    if (is_last) best = std::max(best, right / accepted);
  }
  return best;
}

int64_t pick_for_far(const DecisionSet& found, double far) {
  const int64_t pairs = found.pairs.negative_pairs;
  if (far * static_cast<double>(pairs) < 1) {
    throw_too_few(std::to_string(pairs) + " pairs of two classes",
                  "a false-accept rate of " + format_general(far, 6));
  }
  const auto cell = cell_for_far(found.pairs, far);
  if (cell) return *cell;
  throw DataError(
      "option 'threshold': no threshold has a false-accept rate of at most " +
      format_general(far, 6) +
      ": more of the pairs of two classes have a "
      "similarity of 1. Is one image in several classes?");
}

int64_t pick_for_precision(const DecisionSet& found, double precision) {
  const auto cell = cell_for_precision(found.closed, precision);
  if (!cell) {
    throw DataError("option 'threshold': no threshold reaches a precision of " +
                    format_general(precision, 6) + ": the most is " +
                    format_general(best_precision(found.closed), 6));
  }
  const AnswerCounts counts = count_answers(found.closed, {*cell})[0];
  if (counts.accepted * (1 - precision) < 1 - 1e-9) {
    throw_too_few(
        format_general(counts.accepted, 12) + " accepted first answers",
        "a precision of " + format_general(precision, 6));
  }
  return *cell;
}

int64_t pick_for_fpir(const DecisionSet& found, double fpir) {
  const AnswerCounts counts = count_answers(found.open, {0})[0];
  if (counts.non_mated == 0) {
    throw DataError(
        "option 'threshold': every query has its class in the gallery; leave "
        "classes out of it with option 'unknown_classes'");
  }
  if (fpir * counts.non_mated < 1) {
    throw_too_few(
        format_general(counts.non_mated, 12) + " searches without a mate",
        "a false-positive identification rate of " + format_general(fpir, 6));
  }
  const auto cell = cell_for_fpir(found.open, fpir);
  if (cell) return *cell;
  throw DataError(
      "option 'threshold': no threshold has a false-positive identification "
      "rate of at most " +
      format_general(fpir, 6) +
      ": more searches without a mate find a similarity of 1. Is one image in "
      "several classes?");
}

}  // namespace

DecisionSet measure_decisions(const Scored& given,
                              const DecisionOptions& options) {
  if (!given.lists.empty()) {
    throw ConfigError(
        "option 'threshold' needs classes: here lists say which items answer a "
        "query, so it is not known whether two others belong together");
  }
  Communicator& ranks = or_alone(options.ranks);
  const Scored scored = checked_scored(given);
  DecisionSet found;
  found.set = pairs_of(divided_scored(scored, ranks), options);
  found.groups =
      group_classes(found.set.query_labels, found.set.gallery_labels);
  found.pairs = count_pair_cells(found.set);
  if (found.pairs.negative_pairs == 0) {
    throw DataError(
        "there are no pairs of two classes, so no threshold can be told from "
        "another: images of several classes are needed");
  }
  found.closed = first_answers(divided_scored(scored, ranks), found.groups,
                               options.memory_mb);
  const std::vector<int64_t> unknown =
      unknown_of(found.set.gallery_labels, options);
  found.unknown_classes = std::ssize(unknown);
  const int64_t in_gallery =
      group_classes(found.set.gallery_labels, found.set.gallery_labels).classes;
  if (found.unknown_classes == in_gallery) {
    throw DataError(
        "option 'unknown_classes' leaves no class in the gallery: name "
        "fewer than all " +
        std::to_string(in_gallery));
  }
  found.open = unknown.empty()
                   ? found.closed
                   : first_answers(divided_scored(
                                       without_classes(scored, unknown), ranks),
                                   found.groups, options.memory_mb);
  if (!options.misses) {
    std::erase_if(found.closed,
                  [](const FirstAnswer& a) { return !a.is_mated; });
  }
  return found;
}

int64_t pick_cell(const DecisionSet& found, const ThresholdWish& wish) {
  switch (wish.kind) {
    case ThresholdWish::Kind::kFar:
      return pick_for_far(found, wish.value);
    case ThresholdWish::Kind::kPrecision:
      return pick_for_precision(found, wish.value);
    case ThresholdWish::Kind::kFpir:
      return pick_for_fpir(found, wish.value);
    default:
      return static_cast<int64_t>(std::ceil(wish.value * kCellsPerUnit)) +
             kCellsPerUnit;
  }
}

}  // namespace kith
