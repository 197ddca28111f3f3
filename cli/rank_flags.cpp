#include "cli/rank_flags.h"

#include <chrono>
#include <cstdio>

#include <torch/torch.h>

#include "cli/this_rank.h"
#include "cli/usage.h"
#include "kith/core/device.h"
#include "kith/core/error.h"
#include "kith/distributed/local_ranks.h"
#include "kith/distributed/rank_threads.h"

namespace kith {
namespace {

std::vector<std::string>& program_arguments() {
  static std::vector<std::string> words;
  return words;
}

[[noreturn]] void run_as_ranks(const RankFlags& flags) {
  std::vector<std::string> words = program_arguments();
  words.at(0) = program_file();
  const RanksEnd end = run_ranks(flags.ranks, words, flags.engine);
  if (!end.message.empty()) {
    std::fprintf(stderr, "kith: %s\n", end.message.c_str());
  }
  throw ProgramEnd{end.status};
}

}  // namespace

void remember_arguments(int argc, char** argv) {
  program_arguments().assign(argv, argv + argc);
}

void RankFlags::add_to(CLI::App& command) {
  command
      .add_option("--ranks", ranks,
                  "Processes on this machine that do it together; default: "
                  "those that torchrun, mpirun or srun started, or one")
      ->check(integer(1, 1024));
  command
      .add_option("--engine", engine,
                  "What ranks send with: auto, gloo, nccl or mpi; one that is "
                  "named serves a single rank too")
      ->capture_default_str();
  command
      .add_option("--timeout", timeout,
                  "Seconds a rank waits for the others; default: KITH_TIMEOUT "
                  "of the environment, or 1800")
      ->check(integer(1, 100'000'000));
}

void RankFlags::start() const {
  const RankPlace place = find_ranks();
  if (place.size > 1 && ranks > 0 && ranks != place.size) {
    throw ConfigError("--ranks " + std::to_string(ranks) +
                      ", but this is one of " + std::to_string(place.size) +
                      " ranks already: leave --ranks out");
  }
  if (place.size == 1 && ranks > 1) run_as_ranks(*this);
  be_rank(place);
}

c10::Device RankFlags::device(const DeviceFlags& flags) const {
  const RankPlace& place = this_place();
  if (place.size == 1) return flags.apply();
  set_threads(flags.threads > 0 ? flags.threads : threads_of_rank(place));
  const auto gpus = static_cast<int64_t>(torch::cuda::device_count());
  const bool any_gpu = flags.device == "auto" || flags.device == "cuda";
  if (!any_gpu || gpus == 0) return parse_device(flags.device);
  return parse_device("cuda:" + std::to_string(place.local_rank % gpus));
}

Communicator& RankFlags::join(c10::Device device) const {
  return join_as_rank({.engine = engine,
                       .device = device,
                       .timeout = std::chrono::seconds(timeout)});
}

}  // namespace kith
