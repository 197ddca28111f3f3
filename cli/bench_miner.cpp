#include "cli/bench_miner.h"

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/miners/miner.h"

namespace kith {

Tensor mine_once(const ConfigNode& miner, const LossInput& input) {
  return (*miner_registry().make(miner, "miner"))(input.embeddings,
                                                  input.labels, input.seed);
}

MinerBenchResult bench_miner(const MinerBench& bench) {
  const c10::OptionalDeviceGuard device(bench.device);
  const auto miner = miner_registry().make(bench.miner, "miner");
  MinerBenchResult result;
  result.options = miner_registry().complete(bench.miner, "miner");
  result.width = miner->width();
  const LossInput input = random_batch(bench);
  const auto run = [&] {
    return (*miner)(input.embeddings, input.labels, input.seed);
  };

  result.tuples = run().size(0);  // warms up: threads, pages, libraries
  const PeakMemory peak(bench.device);
  run();
  result.extra_memory_mb = peak.extra_mb();
  result.time = time_runs(run, bench.device, bench.seconds);
  return result;
}

}  // namespace kith
