#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/eval/diagnostics.h"
#include "kith/report/image_group.h"
#include "kith/report/insight.h"
#include "kith/report/thumbnails.h"

namespace kith {

/// Queries of a set of examples as places in task.queries.
struct ChosenQueries {
  std::string title;
  std::string note;
  std::vector<int64_t> queries;
};

/// Queries drawn with the seed; the hardest of the last run, by average
/// precision; and, of two runs or more, those whose average precision has grown
/// most from the first to the last. Of the hardest and the most improved there
/// are at most two of a class. `diagnoses` are one per run, with all queries
/// among the hardest. A choice without queries is left out.
std::vector<ChosenQueries> choose_queries(
    const EvalTask& task, const std::vector<Diagnostics>& diagnoses,
    const InsightOptions& options);

/// The chosen queries and what every run finds for them. The runs have the
/// same images.
std::vector<ExampleSet> make_examples(const std::vector<EmbeddedRun*>& runs,
                                      const std::vector<Diagnostics>& diagnoses,
                                      const InsightOptions& options,
                                      Thumbnails& thumbnails);

}  // namespace kith
