#include "kith/report/examples.h"

#include <algorithm>
#include <map>
#include <utility>

#include "kith/eval/query_neighbours.h"

namespace kith {
namespace {

const QueryDiagnosis& at(const Diagnostics& diagnosis, int64_t query) {
  return diagnosis.queries[static_cast<size_t>(query)];
}

/// The first `most` queries with at most two of a class, so that one bad class
/// does not fill the examples.
std::vector<int64_t> of_many_classes(const std::vector<int64_t>& queries,
                                     const std::vector<int64_t>& labels,
                                     int64_t most) {
  constexpr int64_t kOfAClass = 2;
  std::map<int64_t, int64_t> counts;
  std::vector<int64_t> chosen;
  for (const int64_t query : queries) {
    if (std::ssize(chosen) == most) break;
    if (++counts[labels[static_cast<size_t>(query)]] > kOfAClass) continue;
    chosen.push_back(query);
  }
  return chosen;
}

/// Queries whose average precision is higher in `last`, largest gain first,
/// then by position.
std::vector<int64_t> by_gain(const Diagnostics& first,
                             const Diagnostics& last) {
  std::vector<std::pair<double, int64_t>> gains;
  for (int64_t q = 0; q < std::ssize(last.queries); ++q) {
    const double gain =
        at(last, q).average_precision - at(first, q).average_precision;
    if (gain > 0) gains.emplace_back(-gain, q);  // false without positives
  }
  std::sort(gains.begin(), gains.end());
  std::vector<int64_t> queries;
  for (const auto& [loss, query] : gains) queries.push_back(query);
  return queries;
}

/// What a run finds for every chosen query, each searched once.
class Finder {
 public:
  Finder(const EmbeddedRun& run, const Diagnostics& diagnosis,
         const std::vector<int64_t>& queries, const InsightOptions& options)
      : task_(run.split.tasks.front()), diagnosis_(diagnosis) {
    auto found = query_neighbours(run.split, task_, queries, options.neighbours,
                                  options.memory_mb);
    for (size_t i = 0; i < queries.size(); ++i) {
      found_[queries[i]] = std::move(found[i]);
    }
  }

  /// Pictures are those of `shown`, the first run's task.
  QueryResult result(int64_t query, const EvalTask& shown,
                     Thumbnails& thumbnails) const {
    QueryResult result;
    result.first_right = at(diagnosis_, query).nearest_positive_rank;
    if (result.first_right > 0) {
      result.average_precision = at(diagnosis_, query).average_precision;
    }
    for (const NeighbourItem& item : found_.at(query)) {
      result.found.push_back(
          {thumbnails.place(same_item(task_, item.item, shown)),
           item.similarity, item.right});
    }
    return result;
  }

 private:
  const EvalTask& task_;
  const Diagnostics& diagnosis_;
  std::map<int64_t, std::vector<NeighbourItem>> found_;
};

std::vector<int64_t> all_of(const std::vector<ChosenQueries>& choices) {
  std::vector<int64_t> all;
  for (const ChosenQueries& choice : choices) {
    all.insert(all.end(), choice.queries.begin(), choice.queries.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

std::vector<ChosenQueries> choose_queries(
    const EvalTask& task, const std::vector<Diagnostics>& diagnoses,
    const InsightOptions& options) {
  const Diagnostics& last = diagnoses.back();
  const auto choose = [&](const std::vector<int64_t>& queries) {
    return of_many_classes(queries, last.query_labels, options.queries);
  };
  const bool several = diagnoses.size() > 1;
  std::vector<ChosenQueries> choices = {
      {"Random",
       "Drawn with seed " + std::to_string(options.seed) +
           ", not chosen by their result.",
       draw_queries(task, options.queries, options.seed)},
      {"Hardest",
       std::string("Lowest average precision") +
           (several ? " in the last run" : "") + ", at most two of a class.",
       choose(last.hardest)}};
  if (several) {
    choices.push_back({"Most improved",
                       "Largest gain in average precision from the first run "
                       "to the last, at most two of a class.",
                       choose(by_gain(diagnoses.front(), last))});
  }
  std::erase_if(choices, [](const ChosenQueries& choice) {
    return choice.queries.empty();
  });
  return choices;
}

std::vector<ExampleSet> make_examples(const std::vector<EmbeddedRun*>& runs,
                                      const std::vector<Diagnostics>& diagnoses,
                                      const InsightOptions& options,
                                      Thumbnails& thumbnails) {
  const EvalTask& task = runs.front()->split.tasks.front();
  const std::vector<ChosenQueries> choices =
      choose_queries(task, diagnoses, options);
  const std::vector<int64_t> all = all_of(choices);
  std::vector<Finder> finders;
  for (size_t i = 0; i < runs.size(); ++i) {
    finders.emplace_back(*runs[i], diagnoses[i], all, options);
  }
  std::vector<ExampleSet> examples;
  for (const ChosenQueries& choice : choices) {
    ExampleSet set{choice.title, choice.note, {}};
    for (const int64_t query : choice.queries) {
      ExampleQuery shown;
      shown.picture =
          thumbnails.place(task.queries[static_cast<size_t>(query)]);
      for (const Finder& finder : finders) {
        shown.results.push_back(finder.result(query, task, thumbnails));
      }
      set.queries.push_back(std::move(shown));
    }
    examples.push_back(std::move(set));
  }
  return examples;
}

}  // namespace kith
