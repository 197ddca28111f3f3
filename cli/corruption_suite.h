#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/metrics_report.h"
#include "kith/data/corruption.h"
#include "kith/data/data_set.h"
#include "kith/eval/evaluate.h"
#include "kith/models/embedding_net.h"

namespace kith {

struct CorruptedResult {
  std::string corruption;
  EvalResult result;
};

/// The names of --corruptions: all, or a list with commas. ConfigError for an
/// unknown one.
std::vector<std::string> corruption_names(const std::string& text);

/// The mean of a metric, by its place in the results, over the corruptions.
double mean_of_corrupted(const std::vector<CorruptedResult>& corrupted,
                         size_t metric);

/// A table: a row for each corruption, the clean images above, the mean of the
/// corruptions below; a column for each metric.
void print_corruptions(const EvalResult& clean,
                       const std::vector<CorruptedResult>& corrupted);

/// {"jpeg": {"recall_any@1": 0.9, ..., "intervals": {...}}, ...}
nlohmann::ordered_json corruptions_json(
    const std::vector<CorruptedResult>& corrupted,
    const MetricsContext& context);

/// Changes pictures by a corruption with its published settings.
std::function<Image(const Image&, int64_t)> corruption_of(
    const std::string& name, uint64_t seed);

/// A few images of the set as the network sees them: a row each, first as it
/// is, then with every corruption.
Image corruption_examples(const DataSet& data,
                          const std::vector<int64_t>& images,
                          const InputOptions& input,
                          const std::vector<std::string>& names, uint64_t seed);

}  // namespace kith
