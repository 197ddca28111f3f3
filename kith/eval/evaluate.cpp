#include "kith/eval/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/bootstrap.h"
#include "kith/eval/metric_name.h"
#include "kith/eval/relevance.h"
#include "kith/index/ranks.h"
#include "kith/index/reranked.h"
#include "kith/index/tell_others.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The metrics with a value for each query.
std::vector<const RankMetric*> rank_metrics(
    const std::vector<NamedMetric>& metrics) {
  std::vector<const RankMetric*> found;
  for (const NamedMetric& m : metrics) {
    const auto* by_query = dynamic_cast<const RankMetric*>(m.metric.get());
    if (by_query != nullptr) found.push_back(by_query);
  }
  return found;
}

/// Ranks of the positives, rising, as if the junk were not in the gallery.
/// `ranks` has those of the positives, then those of the junk.
std::vector<int64_t> ranks_without_junk(std::span<const int64_t> ranks,
                                        int64_t positives) {
  const auto middle = ranks.begin() + positives;
  std::vector<int64_t> kept(ranks.begin(), middle);
  std::vector<int64_t> junk(middle, ranks.end());
  std::sort(kept.begin(), kept.end());
  std::sort(junk.begin(), junk.end());
  size_t before = 0;
  for (int64_t& rank : kept) {
    while (before < junk.size() && junk[before] < rank) ++before;
    rank -= static_cast<int64_t>(before);
  }
  return kept;
}

/// values[m][q] of every rank metric; NaN for queries without positives, or 0
/// if they are misses.
std::vector<std::vector<double>> values_by_query(
    const Scored& scored, const Relevance& relevance,
    const std::vector<const RankMetric*>& metrics,
    const EvaluateOptions& options) {
  std::vector<std::vector<double>> values(
      metrics.size(),
      std::vector<double>(static_cast<size_t>(relevance.queries()),
                          options.misses ? 0.0 : kNan));
  if (metrics.empty()) return values;
  const Rows& gallery =
      scored.gallery.defined() ? scored.gallery : scored.queries;
  std::optional<Reranked> reranked;
  if (!options.rerank.empty()) {
    reranked.emplace(options.rerank,
                     RerankSet{scored.queries, gallery, relevance.self(),
                               options.memory_mb});
  }
  for (int64_t first = 0; first < relevance.queries();) {
    const RankedPairs pairs = next_pairs(relevance, first, relevance.queries(),
                                         options.memory_mb << 19);
    const std::vector<int64_t> ranks =
        reranked ? reranked->ranks(pairs)
                 : exact_ranks(scored.queries, gallery, pairs, relevance.self(),
                               {options.memory_mb});
    at::parallel_for(0, pairs.queries(), 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t q = first + i;
        const int64_t positives = relevance.positives(q);
        if (positives == 0) continue;
        const int64_t from = pairs.offsets[static_cast<size_t>(i)];
        const int64_t to = pairs.offsets[static_cast<size_t>(i) + 1];
        const std::vector<int64_t> sorted = ranks_without_junk(
            {ranks.data() + from, static_cast<size_t>(to - from)}, positives);
        const RankedQuery query{sorted, relevance.candidates(q),
                                relevance.class_size(q)};
        for (size_t m = 0; m < metrics.size(); ++m) {
          values[m][static_cast<size_t>(q)] = metrics[m]->value(query);
        }
      }
    });
    first += pairs.queries();
  }
  return values;
}

double mean_of_known(const std::vector<double>& values) {
  double sum = 0;
  int64_t count = 0;
  for (double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? kNan : sum / static_cast<double>(count);
}

ScoredSet set_of(const Scored& scored, const Relevance& relevance,
                 const EvaluateOptions& options) {
  ScoredSet set;
  const bool apart = scored.gallery.defined();
  set.gallery = apart ? scored.gallery : scored.queries;
  set.gallery_labels = apart ? scored.gallery_labels : scored.query_labels;
  set.queries = scored.queries;
  set.query_labels = scored.query_labels;
  set.self = relevance.self();
  set.clusters = options.clusters;
  set.seed = options.seed;
  set.memory_mb = options.memory_mb;
  set.ranks = options.ranks;
  return set;
}

/// A value that a metric cannot have is a bug, of the metric or of what it was
/// given: no number is better than a wrong one.
void check_range(const NamedMetric& named, double value) {
  constexpr double kRounding = 1e-9;
  const MetricRange range = named.metric->range();
  if (value >= range.low - kRounding && value <= range.high + kRounding) return;
  std::ostringstream text;
  text << "metric '" << named.name << "' came out as " << value
       << ", and it can be from " << range.low << " to " << range.high
       << " only: this is a bug of kith or of a plug-in; please report it with "
          "the embeddings";
  throw RunError(text.str());
}

MetricValue named_value(const NamedMetric& named, double value) {
  MetricValue result{named.name, value, named.summary};
  result.is_share = named.metric->is_share();
  result.better = named.metric->better();
  return result;
}

/// Rounding may differ between processors: all take those of the first rank.
void take_from_first(std::vector<double>& values, Communicator& ranks) {
  if (ranks.is_alone()) return;
  Tensor shared = torch::tensor(values, torch::kDouble);
  ranks.broadcast(shared);
  const double* data = shared.data_ptr<double>();
  values.assign(data, data + shared.numel());
}

MetricValue set_value(const NamedMetric& named, const ScoredSet& set) {
  const auto& metric = dynamic_cast<const SetMetric&>(*named.metric);
  std::vector<double> values = metric.values(set);
  take_from_first(values, or_alone(set.ranks));
  for (const double value : values) {
    if (!std::isnan(value)) check_range(named, value);
  }
  MetricValue result = named_value(named, kNan);
  if (metric.is_list()) {
    result.list = values;
  } else {
    result.value = values.at(0);
  }
  return result;
}

/// NaN is of queries without positives only.
void check_queries(const NamedMetric& named, const Relevance& relevance,
                   const std::vector<double>& values) {
  for (size_t q = 0; q < values.size(); ++q) {
    if (relevance.positives(static_cast<int64_t>(q)) > 0) {
      check_range(named, values[q]);
    }
  }
}

EvalPart part_of(const Relevance& relevance) {
  EvalPart part;
  part.queries = relevance.queries();
  part.gallery = relevance.gallery();
  part.self_excluded = relevance.self_excluded();
  for (int64_t q = 0; q < relevance.queries(); ++q) {
    part.without_positives += relevance.positives(q) == 0;
    part.junk += relevance.junk(q);
  }
  return part;
}

std::string rules_of(const EvalPart& part, const EvalResult& result) {
  std::string line = std::to_string(part.queries) + " queries, gallery of " +
                     std::to_string(part.gallery) + ", cosine similarity, " +
                     (part.self_excluded ? "self excluded by index"
                                         : "query not in the gallery") +
                     ", ties by lower index, ";
  if (!result.rerank.empty()) line += "re-ranked by " + result.rerank + ", ";
  if (part.junk > 0) {
    line += std::to_string(part.junk) + " junk items left out of rankings, ";
  }
  if (part.draws > 1) {
    line += "mean of " + std::to_string(part.draws) + " draws, ";
  }
  if (part.without_positives == 0) return line + "every query has positives";
  return line + std::to_string(part.without_positives) +
         " queries without positives " +
         (result.counted_as_misses ? "count as misses" : "left out");
}

EvalResult evaluate_divided(const Scored& scored,
                            const std::vector<NamedMetric>& metrics,
                            const EvaluateOptions& options) {
  const Relevance relevance(scored);
  EvalResult result;
  result.counted_as_misses = options.misses;
  result.rerank = text_of(options.rerank);
  result.parts.push_back(part_of(relevance));
  std::vector<std::vector<double>> values =
      values_by_query(scored, relevance, rank_metrics(metrics), options);
  const std::vector<Interval> intervals =
      options.bootstrap > 0 ? bootstrap(values, options.bootstrap, options.seed)
                            : std::vector<Interval>();
  const ScoredSet set = set_of(scored, relevance, options);
  size_t by_query = 0;
  for (const NamedMetric& named : metrics) {
    if (dynamic_cast<const RankMetric*>(named.metric.get()) == nullptr) {
      // Of embeddings, whose order does not matter.
      if (options.rerank.empty()) {
        result.metrics.push_back(set_value(named, set));
      }
      continue;
    }
    check_queries(named, relevance, values[by_query]);
    MetricValue value = named_value(named, mean_of_known(values[by_query]));
    if (!intervals.empty()) value.interval = intervals[by_query];
    if (options.by_query) value.by_query = std::move(values[by_query]);
    result.metrics.push_back(std::move(value));
    ++by_query;
  }
  if (options.by_query && scored.query_labels.defined()) {
    const int64_t* labels = scored.query_labels.data_ptr<int64_t>();
    result.parts[0].query_labels.assign(labels, labels + relevance.queries());
  }
  return result;
}

}  // namespace

std::string EvalResult::protocol_line() const {
  std::string text;
  for (const EvalPart& part : parts) {
    if (!text.empty()) text += "\n";
    if (!part.name.empty()) text += part.name + ": ";
    text += rules_of(part, *this);
  }
  return text;
}

double EvalResult::at(const std::string& name) const {
  for (const MetricValue& m : metrics) {
    if (m.name == name) return m.value;
  }
  for (const MetricValue& m : metrics) {
    if (MetricName::parse(m.name).is(name)) return m.value;
  }
  return kNan;
}

void add_part(const std::string& name, EvalResult part, EvalResult& result) {
  for (MetricValue& metric : part.metrics) {
    metric.name = MetricName::parse(metric.name).within(name).text();
    metric.part = result.parts.size();
    result.metrics.push_back(std::move(metric));
  }
  part.parts[0].name = name;
  result.parts.push_back(std::move(part.parts[0]));
  result.counted_as_misses = part.counted_as_misses;
  result.rerank = part.rerank;
}

double Metric::operator()(const Tensor& embeddings,
                          const Tensor& labels) const {
  const auto* set = dynamic_cast<const SetMetric*>(this);
  if (set != nullptr && set->is_list()) {
    throw ConfigError("a metric that is a list has no one value: use values()");
  }
  TORCH_CHECK_VALUE(embeddings.dim() == 2 && embeddings.is_floating_point(),
                    "embeddings must be floating point [N, D], got ",
                    embeddings.scalar_type(), " ", embeddings.sizes());
  Scored scored;
  scored.queries = normalize_rows(embeddings);
  scored.query_labels = labels;
  // Borrowed for the call.
  const std::shared_ptr<const Metric> self(this, [](const Metric*) {});
  return evaluate(scored, {{"of this type", "", self}}).metrics[0].value;
}

EvalResult evaluate(const Scored& given,
                    const std::vector<NamedMetric>& metrics,
                    const EvaluateOptions& options) {
  Communicator& ranks = or_alone(options.ranks);
  return telling(ranks, [&] {
    return evaluate_divided(divided_scored(checked_scored(given), ranks),
                            metrics, options);
  });
}

}  // namespace kith
