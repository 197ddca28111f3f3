// Value and gradient of every registered loss: BM_loss/<name>/<M>. Four
// examples a class, D = 128. The three matrix products that a ranking loss
// cannot do without are timed beside them: BM_three_products.
#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/pairwise.h"

namespace {

constexpr int64_t kDim = 128;

kith::Tensor random_embeddings(int64_t m) {
  torch::manual_seed(0);
  return kith::normalize_rows(torch::randn({m, kDim}));
}

void bench_loss(benchmark::State& state, const std::string& name) {
  const int64_t m = state.range(0);
  kith::ConfigNode section = kith::ConfigNode::map();
  section.set("name", kith::ConfigNode::text(name));
  const auto loss = kith::loss_registry().make(section, "loss", {});
  const auto labels = torch::arange(m / 4).repeat_interleave(4);
  for (auto _ : state) {
    auto x = random_embeddings(m).requires_grad_(true);
    (*loss)(x, labels).value.backward();
    benchmark::DoNotOptimize(x.grad().data_ptr());
  }
}

void bench_products(benchmark::State& state) {
  const auto x = random_embeddings(state.range(0));
  for (auto _ : state) {
    const auto s = torch::mm(x, x.t());
    const auto grad = torch::mm(s, x) + torch::mm(s.t(), x);
    benchmark::DoNotOptimize(grad.data_ptr());
  }
}

const bool registered = [] {
  benchmark::RegisterBenchmark("BM_three_products", bench_products)
      ->Arg(400)
      ->Arg(1000)
      ->Unit(benchmark::kMillisecond);
  for (const std::string& name : kith::loss_registry().names()) {
    benchmark::RegisterBenchmark(
        ("BM_loss/" + name).c_str(),
        [name](benchmark::State& state) { bench_loss(state, name); })
        ->Arg(400)
        ->Arg(1000)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
