#include "kith/eval/evaluate.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include <torch/torch.h>

namespace kith {
namespace {

/// [Q] positives of each query in the gallery, itself not counted.
std::vector<int64_t> count_positives(const Tensor& query_labels,
                                     const Tensor& gallery_labels,
                                     const Tensor& self) {
  std::unordered_map<int64_t, int64_t> size;
  const auto gallery = gallery_labels.accessor<int64_t, 1>();
  for (int64_t j = 0; j < gallery.size(0); ++j) ++size[gallery[j]];
  const auto labels = query_labels.accessor<int64_t, 1>();
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < labels.size(0); ++i) {
    const auto found = size.find(labels[i]);
    int64_t count = found == size.end() ? 0 : found->second;
    if (self.defined()) {
      const int64_t own = self.accessor<int64_t, 1>()[i];
      if (own >= 0 && gallery[own] == labels[i]) --count;
    }
    counts.push_back(count);
  }
  return counts;
}

int64_t deepest(const std::vector<NamedMetric>& metrics,
                const std::vector<int64_t>& positives) {
  const int64_t most = *std::max_element(positives.begin(), positives.end());
  int64_t depth = 1;
  for (const NamedMetric& m : metrics) {
    depth = std::max(depth, m.metric->depth(most));
  }
  return depth;
}

/// [Q, k] uint8: whether the neighbour has the query's label.
Tensor relevance(const Neighbours& found, const Tensor& query_labels,
                 const Tensor& gallery_labels) {
  const Tensor labels =
      gallery_labels.index_select(0, found.indices.clamp_min(0).flatten())
          .view_as(found.indices);
  return ((labels == query_labels.unsqueeze(1)) & (found.indices >= 0))
      .to(torch::kByte)
      .contiguous();
}

}  // namespace

std::string EvalResult::protocol_line() const {
  std::string line =
      std::to_string(queries) + " queries, gallery of " +
      std::to_string(gallery) + ", cosine similarity, " +
      (self_excluded ? "self excluded by index" : "query not in the gallery") +
      ", ties by lower index, ";
  if (without_positives == 0) return line + "every query has positives";
  return line + std::to_string(without_positives) +
         " queries without positives " +
         (counted_as_misses ? "count as misses" : "left out");
}

double EvalResult::at(const std::string& name) const {
  for (const MetricValue& m : metrics) {
    if (m.name == name) return m.value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

EvalResult evaluate(const Scored& scored,
                    const std::vector<NamedMetric>& metrics, bool misses) {
  const bool among_themselves = !scored.gallery.defined();
  const Tensor& gallery = among_themselves ? scored.queries : scored.gallery;
  const Tensor& gallery_labels =
      among_themselves ? scored.query_labels : scored.gallery_labels;
  const int64_t count = scored.queries.size(0);
  Tensor self = scored.self;
  if (!self.defined() && among_themselves) {
    self = torch::arange(count, torch::kLong);
  }

  EvalResult result;
  result.queries = count;
  result.gallery = gallery.size(0);
  result.self_excluded = self.defined() && (self >= 0).any().item<bool>();
  result.counted_as_misses = misses;
  const std::vector<int64_t> positives =
      count_positives(scored.query_labels, gallery_labels, self);
  result.without_positives =
      std::count(positives.begin(), positives.end(), int64_t{0});

  SearchOptions options;
  options.k = deepest(metrics, positives);
  const Neighbours found = exact_search(scored.queries, gallery, self, options);
  const Tensor relevant = relevance(found, scored.query_labels, gallery_labels);
  const auto width = static_cast<size_t>(relevant.size(1));
  const uint8_t* rows = relevant.data_ptr<uint8_t>();
  const int64_t counted = misses ? count : count - result.without_positives;

  for (const NamedMetric& m : metrics) {
    double sum = 0;
    for (size_t q = 0; q < positives.size(); ++q) {
      if (positives[q] == 0) continue;
      const auto depth = static_cast<size_t>(m.metric->depth(positives[q]));
      sum += m.metric->value(
          {{rows + q * width, std::min(depth, width)}, positives[q]});
    }
    const double value = counted == 0 ? std::numeric_limits<double>::quiet_NaN()
                                      : sum / static_cast<double>(counted);
    result.metrics.push_back({m.name, value, m.summary});
  }
  return result;
}

}  // namespace kith
