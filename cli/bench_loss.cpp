#include "cli/bench_loss.h"

#include <algorithm>

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "cli/bench_miner.h"
#include "kith/core/error.h"
#include "kith/losses/loss.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

/// Value and gradient, as a training step gets them.
Tensor run_once(const Loss& loss, LossInput input) {
  input.embeddings = input.embeddings.detach().requires_grad_(true);
  for (auto& [name, parameter] : loss.named_parameters().pairs()) {
    parameter.mutable_grad() = Tensor();
  }
  try {
    // As a training does: without the checks of what it made itself.
    const Tensor value = loss.unchecked(input).value;
    value.backward();
    return value.detach();
  } catch (const c10::ValueError& error) {
    // The batch is what the flags say, so the flags are what to change.
    throw ConfigError(error.what_without_backtrace());
  }
}

/// S_I = X_I X^T, dX_I += S_I X and dX += S_I^T X_I for stretches I of rows,
/// in 512 MiB for S_I.
class Products {
 public:
  explicit Products(const Tensor& x) : x_(x), dx_(torch::zeros_like(x)) {
    constexpr int64_t kMostRows = 4096, kMostBytes = 512 << 20;
    const int64_t row_bytes = rows() * static_cast<int64_t>(x.element_size());
    block_ = std::clamp<int64_t>(kMostBytes / row_bytes, 1,
                                 std::min(kMostRows, rows()));
    similarities_ = torch::empty({block_, rows()}, x.options());
  }

  int64_t rows() const { return x_.size(0); }
  int64_t block() const { return block_; }

  void run(int64_t rows) {
    const torch::NoGradGuard no_grad;
    dx_.zero_();
    for (int64_t begin = 0; begin < rows; begin += block_) {
      const int64_t end = std::min(begin + block_, rows);
      const Tensor xi = x_.slice(0, begin, end);
      Tensor s = similarities_.slice(0, 0, end - begin);
      torch::mm_out(s, xi, x_.t());
      dx_.slice(0, begin, end).addmm_(s, x_);
      dx_.addmm_(s.t(), xi);
    }
  }

 private:
  Tensor x_;             ///< [M, D]
  Tensor dx_;            ///< [M, D]
  Tensor similarities_;  ///< [block, M]
  int64_t block_ = 1;
};

/// How many rows to time: all, or a part if all would take too long.
int64_t rows_to_time(Products& products, c10::Device device) {
  constexpr double kLong = 20e3, kPart = 5e3;  // ms
  const int64_t block = products.block();
  const auto run = [&] { products.run(block); };
  run();  // warms up
  const double time = time_once(run, device);
  const auto blocks =
      static_cast<double>(products.rows()) / static_cast<double>(block);
  if (time * blocks <= kLong) return products.rows();
  return block * std::max<int64_t>(1, static_cast<int64_t>(kPart / time));
}

void time_products(const LossBench& bench, const Tensor& x,
                   LossBenchResult& result) {
  const ProductPrecision precision(result.products_precision == "tf32");
  Products products(x);
  const int64_t rows = rows_to_time(products, bench.device);
  result.products_rows_timed = rows;
  result.products =
      time_runs([&] { products.run(rows); }, bench.device, bench.seconds);
  const double scale =
      static_cast<double>(bench.batch) / static_cast<double>(rows);
  result.products.median *= scale;
  result.products.min *= scale;
  const double operations = 6.0 * static_cast<double>(bench.batch) *
                            static_cast<double>(bench.batch) *
                            static_cast<double>(bench.dim);
  result.products_gflops = operations / (1e6 * result.products.median);
}

/// Whether an option of the loss, if it has it, has this value.
bool option_is(const ConfigNode& options, const std::string& name,
               const std::string& value) {
  const ConfigNode* option = options.find(name);
  return option != nullptr && option->scalar == value;
}

void describe(const LossBench& bench, LossBenchResult& result) {
  const ConfigNode& options = result.options;
  result.simix = option_is(options, "simix", "true");
  const int64_t pairs = bench.per_class * (bench.per_class - 1) / 2;
  const int64_t of_class = bench.per_class + (result.simix ? pairs : 0);
  result.rows = bench.batch / bench.per_class * of_class;
  result.positives = of_class - 1;
  const bool tf32 =
      bench.device.is_cuda() && option_is(options, "products", "tf32");
  result.products_precision = bench.float64 ? "float64"
                              : tf32        ? "tf32"
                                            : "float32";
}

std::unique_ptr<Loss> make_loss(const LossBench& bench) {
  LossContext context;
  context.classes = bench.batch / bench.per_class;
  context.dim = bench.dim;
  context.seed = static_cast<uint64_t>(bench.seed);
  auto loss = loss_registry().make(bench.loss, "loss", context);
  loss->to(bench.device, bench.float64 ? torch::kDouble : torch::kFloat);
  return loss;
}

/// The miner that a loss on tuples has unless a configuration names one.
std::string default_miner(const LossBench& bench) {
  const std::string& name = bench.loss.find("name")->scalar;
  return loss_registry().at(name, "").traits.miner;
}

/// A loss that needs tuples says so on any batch, also on an empty one.
bool needs_tuples(const Loss& loss, const LossInput& input) {
  if (loss.tuple_widths().empty()) return false;
  LossInput empty;
  empty.embeddings = input.embeddings.slice(0, 0, 0);
  empty.labels = input.labels.slice(0, 0, 0);
  try {
    loss(empty);
  } catch (const c10::ValueError&) {
    return true;
  }
  return false;
}

/// Tuples of the loss's own miner, or else of `random`.
void mine_tuples(const LossBench& bench, LossInput& input,
                 LossBenchResult& result) {
  result.miner = default_miner(bench);
  if (result.miner.empty()) result.miner = "random";
  ConfigNode miner = ConfigNode::map();
  miner.set("name", ConfigNode::text(result.miner));
  input.tuples = mine_once(miner, input);
  result.tuples = input.tuples.size(0);
}

}  // namespace

LossBenchResult bench_loss(const LossBench& bench) {
  const c10::OptionalDeviceGuard device(bench.device);
  const auto loss = make_loss(bench);
  LossBenchResult result;
  result.options = loss_registry().complete(bench.loss, "loss");
  describe(bench, result);
  LossInput input = random_batch(bench);
  // Virtual examples are of the whole batch.
  const bool mines = !default_miner(bench).empty() && !result.simix;
  if (mines || needs_tuples(*loss, input)) {
    mine_tuples(bench, input, result);
  }
  const auto run = [&] { return run_once(*loss, input); };

  result.value = run().item<double>();  // warms up: threads, pages, libraries
  const PeakMemory peak(bench.device);
  run();
  result.extra_memory_mb = peak.extra_mb();
  result.time = time_runs(run, bench.device, bench.seconds);
  time_products(bench, input.embeddings, result);
  return result;
}

}  // namespace kith
