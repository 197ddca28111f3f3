#include "kith/eval/embedded_split.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/eval/student_t.h"
#include "kith/index/shared_rows.h"
#include "kith/index/tell_others.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

/// Positions of `wanted` in the sorted list `all`; -1 for one that is missing.
Tensor find_rows(const std::vector<int64_t>& all,
                 const std::vector<int64_t>& wanted) {
  std::vector<int64_t> rows;
  rows.reserve(wanted.size());
  for (int64_t index : wanted) {
    const auto found = std::lower_bound(all.begin(), all.end(), index);
    rows.push_back(found != all.end() && *found == index ? found - all.begin()
                                                         : -1);
  }
  return torch::tensor(rows, torch::kLong);
}

/// The rows of a rising list of images, of which this rank gives what it has:
/// those of `mine`.
Rows rows_shared(const EmbeddedSplit& split, const Tensor& mine,
                 const std::vector<int64_t>& set) {
  const Tensor rows = find_rows(split.rows_of, set) - split.first;
  const Tensor own = rows.masked_select((rows >= 0) & (rows < mine.size(0)));
  return shared_rows(mine.index_select(0, own.to(mine.device())),
                     *split.sharing);
}

/// The draws of one task as one part.
EvalResult merge_draws(std::vector<EvalResult> draws, bool with_intervals) {
  EvalResult merged = std::move(draws.front());
  if (draws.size() == 1) return merged;
  merged.parts[0].draws = static_cast<int64_t>(draws.size());
  for (size_t m = 0; m < merged.metrics.size(); ++m) {
    MetricValue& metric = merged.metrics[m];
    std::vector<double> values = {metric.value};
    for (size_t d = 1; d < draws.size(); ++d) {
      const MetricValue& other = draws[d].metrics[m];
      values.push_back(other.value);
      metric.by_query.insert(metric.by_query.end(), other.by_query.begin(),
                             other.by_query.end());
    }
    metric.value = 0;
    for (double value : values) {
      metric.value += value / static_cast<double>(values.size());
    }
    metric.interval.reset();
    if (with_intervals) metric.interval = interval_of_mean(values);
  }
  std::vector<int64_t>& labels = merged.parts[0].query_labels;
  for (size_t d = 1; d < draws.size(); ++d) {
    const std::vector<int64_t>& more = draws[d].parts[0].query_labels;
    labels.insert(labels.end(), more.begin(), more.end());
  }
  return merged;
}

}  // namespace

Scored EmbeddedSplit::scored(const EvalTask& task) const {
  const auto rows = [&](const Tensor& all,
                        const std::vector<int64_t>& set) -> Rows {
    if (sharing != nullptr) return rows_shared(*this, all, set);
    if (set == rows_of) return all;
    return all.index_select(0, find_rows(rows_of, set).to(all.device()));
  };
  const auto labels_at = [&](const std::vector<int64_t>& set) {
    return torch::tensor(labels, torch::kLong)
        .index_select(0, find_rows(rows_of, set));
  };
  Scored scored;
  scored.queries = rows(embeddings, task.queries);
  scored.query_labels = labels_at(task.queries);
  // The same rows, so that each pair's similarity is computed once.
  scored.gallery = items.defined() ? rows(items, task.gallery)
                   : task.gallery == task.queries
                       ? scored.queries
                       : rows(embeddings, task.gallery);
  scored.gallery_labels = labels_at(task.gallery);
  scored.self = find_rows(task.gallery, task.queries);
  scored.lists = task.lists;
  return scored;
}

EmbeddedSplit plan_split(const DataSet& data, Split split,
                         const Protocol& protocol) {
  EmbeddedSplit result;
  result.tasks = eval_tasks(protocol, data.list(), split);
  std::vector<int64_t>& all = result.rows_of;
  for (const EvalTask& task : result.tasks) {
    all.insert(all.end(), task.queries.begin(), task.queries.end());
    all.insert(all.end(), task.gallery.begin(), task.gallery.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  result.labels = data.list().labels(all);
  return result;
}

EmbeddedSplit embed_split(EmbeddingNet& net, const DataSet& data, Split split,
                          const Protocol& protocol, const EmbedOptions& options,
                          Progress& progress) {
  EmbeddedSplit result = plan_split(data, split, protocol);
  result.embeddings =
      normalize_rows(embed(net, data, result.rows_of, options, progress));
  return result;
}

EmbeddedSplit embed_shared_split(EmbeddingNet& net, const DataSet& data,
                                 Split split, const Protocol& protocol,
                                 const EmbedOptions& options,
                                 Progress& progress) {
  EmbeddedSplit result = plan_split(data, split, protocol);
  EmbeddedShare share =
      embed_share(net, data, result.rows_of, options, progress);
  result.embeddings = normalize_rows(share.rows);
  result.first = share.first;
  result.sharing = &or_alone(options.ranks);
  return result;
}

EvalResult evaluate_split(const EmbeddedSplit& split,
                          const std::vector<NamedMetric>& metrics,
                          const EvaluateOptions& options) {
  EvalResult result;
  for (size_t first = 0; first < split.tasks.size();) {
    const std::string& name = split.tasks[first].name;
    std::vector<EvalResult> draws;
    for (; first < split.tasks.size() && split.tasks[first].name == name;
         ++first) {
      draws.push_back(
          evaluate(split.scored(split.tasks[first]), metrics, options));
    }
    add_part(name, merge_draws(std::move(draws), options.bootstrap > 0),
             result);
  }
  return result;
}

}  // namespace kith
