#include "cli/bench_search.h"

#include <algorithm>

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/eval/evaluate.h"
#include "kith/index/flat.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

/// All similarities, a block of rows at a time, and nothing else.
void multiply(const Tensor& x, Tensor& block) {
  for (int64_t i = 0; i < x.size(0); i += block.size(0)) {
    const int64_t rows = std::min(block.size(0), x.size(0) - i);
    Tensor part = block.slice(0, 0, rows);
    torch::mm_out(part, x.slice(0, i, i + rows), x.t());
  }
}

double score(const Scored& scored, const RerankSteps& rerank) {
  const std::vector<NamedMetric> metrics =
      parse_metrics({"recall_any@1,10,100,1000", "map_at_r"});
  EvaluateOptions options;
  options.rerank = rerank;
  return evaluate(scored, metrics, options).at("recall_any@1");
}

double nearest(const Scored& scored, int64_t k) {
  SearchOptions options;
  options.k = k;
  const Tensor self = torch::arange(scored.queries.count(), torch::kLong);
  const Tensor first =
      exact_search(scored.queries, scored.queries, self, options)
          .indices.select(1, 0);
  return (scored.query_labels.index_select(0, first) == scored.query_labels)
      .to(torch::kDouble)
      .mean()
      .item<double>();
}

}  // namespace

SearchBenchResult bench_search(const SearchBench& bench) {
  const c10::OptionalDeviceGuard device(bench.device);
  const LossInput input = random_batch(bench);
  Scored scored;
  scored.queries = input.embeddings;
  scored.query_labels = input.labels.cpu();
  SearchBenchResult result;
  const auto run = [&] {
    result.recall = bench.what == "knn" ? nearest(scored, bench.k)
                                        : score(scored, bench.rerank);
  };
  const PeakMemory peak(bench.device);
  run();  // warms up too: threads, pages, libraries
  result.extra_memory_mb = peak.extra_mb();
  result.time = time_runs(run, bench.device, bench.seconds);

  const ProductPrecision precision(/*tf32=*/false);
  const Tensor x = input.embeddings.detach();
  Tensor block = torch::empty({std::min<int64_t>(1024, x.size(0)), x.size(0)},
                              x.options());
  result.product =
      time_runs([&] { multiply(x, block); }, bench.device, bench.seconds);
  return result;
}

}  // namespace kith
