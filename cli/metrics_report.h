#pragma once

#include <map>
#include <string>
#include <vector>

#include "kith/eval/compression.h"
#include "kith/eval/corruption_suite.h"
#include "kith/eval/evaluate.h"

namespace kith {

/// Values of metrics that are shown beside those of a model.
struct MetricColumn {
  std::string title;
  std::map<std::string, double> values;
  std::string source = {};  ///< Where they are from, if they are cited.
};

/// Numbers that a paper printed; none if nothing is known of them.
std::vector<MetricColumn> published_column(
    const std::map<std::string, double>& shares, const std::string& source);

/// The metrics as a table, with the rules they stand on. Where others are
/// beside them their column is called `title`.
void print_metrics(const EvalResult& result,
                   const std::vector<MetricColumn>& beside = {},
                   const std::string& title = "trained");

/// The metrics after re-ranking beside those before.
void print_reranked(const EvalResult& before, const EvalResult& after);

/// "recall_any@k: share of queries ...": each metric of the table once.
void print_definitions(const EvalResult& result);

/// A table: a row for each corruption, the clean images above, the mean of the
/// corruptions below; a column for each metric.
void print_corruptions(const EvalResult& clean,
                       const std::vector<CorruptedResult>& corrupted);

/// A table: a row for each form of smaller vectors, with the bytes of an item.
void print_compressed(const std::vector<CompressedResult>& compressed);

}  // namespace kith
