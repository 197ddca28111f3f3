// Exact search against the matrix product it contains.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "kith/index/flat.h"

namespace {

void bench_search(benchmark::State& state) {
  torch::manual_seed(0);
  const auto x = torch::randn({state.range(0), 128});
  kith::SearchOptions options;
  options.k = state.range(1);
  for (auto _ : state) {
    const auto found = kith::exact_search(x, x, {}, options);
    benchmark::DoNotOptimize(found.indices.data_ptr());
  }
}

void bench_product(benchmark::State& state) {
  torch::manual_seed(0);
  const auto x = torch::randn({state.range(0), 128});
  for (auto _ : state) {
    const auto s = torch::mm(x, x.t());
    benchmark::DoNotOptimize(s.data_ptr());
  }
}

BENCHMARK(bench_search)
    ->Args({8000, 1})
    ->Args({8000, 100})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(bench_product)->Arg(8000)->Unit(benchmark::kMillisecond);

}  // namespace
