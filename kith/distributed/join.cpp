#include "kith/distributed/join.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <torch/torch.h>

#include "kith/core/quote.h"
#include "kith/distributed/engines.h"

namespace kith {
namespace {

/// What a variable of the environment says in seconds, if it is set.
std::chrono::milliseconds seconds_of(const char* name,
                                     std::chrono::milliseconds usual) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return usual;
  const std::string text = value;
  double seconds = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, seconds);
  constexpr double kMostSeconds = 1e8;
  const bool fits = error == std::errc() && end == last && seconds > 0 &&
                    seconds < kMostSeconds;
  if (!fits) {
    throw ConfigError(std::string(name) + " of the environment is " +
                      quote(text) + "; expected a number of seconds");
  }
  return std::chrono::milliseconds(
      std::max<int64_t>(1, static_cast<int64_t>(seconds * 1000)));
}

JoinOptions with_defaults(JoinOptions options) {
  if (options.timeout.count() == 0) {
    options.timeout = seconds_of("KITH_TIMEOUT", std::chrono::minutes(30));
  }
  if (options.connect_timeout.count() == 0) {
    options.connect_timeout =
        seconds_of("KITH_CONNECT_TIMEOUT", std::chrono::minutes(1));
  }
  return options;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string text_of(const std::vector<std::string>& built) {
  std::string text;
  for (const std::string& name : built) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none built in" : text;
}

[[noreturn]] void no_engine(const std::string& problem,
                            const std::vector<std::string>& built) {
  throw ConfigError(
      problem + " (engines of this build: " + text_of(built) +
      "). kith finds gloo with Debian's libtorch-dev and libgloo-dev, MPI with "
      "libopenmpi-dev, and NCCL with a LibTorch for CUDA, when it is built");
}

bool has_meeting_place(const RankPlace& place) {
  return !place.address.empty() || !place.store_file.empty();
}

std::string automatic_engine(const RankPlace& place, const JoinOptions& options,
                             const std::vector<std::string>& built,
                             int64_t gpus) {
  const bool has_address = has_meeting_place(place);
  // NCCL wants a GPU for each rank.
  if (options.device.is_cuda() && contains(built, "nccl") && has_address &&
      place.local_size <= gpus) {
    return "nccl";
  }
  const bool by_mpirun = place.launcher == Launcher::kMpi;
  if (by_mpirun && contains(built, "mpi") && !has_address) return "mpi";
  if (contains(built, "gloo") && (has_address || !by_mpirun)) return "gloo";
  if (contains(built, "mpi")) return "mpi";
  if (by_mpirun && contains(built, "gloo")) return "gloo";
  no_engine("these " + std::to_string(place.size) +
                " ranks have nothing to send with",
            built);
}

void check_built(const std::string& engine,
                 const std::vector<std::string>& built) {
  if (!contains({"auto", "gloo", "nccl", "mpi"}, engine)) {
    throw ConfigError("option 'engine': " + quote(engine) +
                      "; expected auto, gloo, nccl or mpi");
  }
  const bool is_there =
      engine == "auto" ? !built.empty() : contains(built, engine);
  if (!is_there) {
    no_engine(engine == "auto" ? "ranks need an engine to send with"
                               : "there is no engine " + engine,
              built);
  }
}

}  // namespace

void check_engine(const std::string& engine) {
  check_built(engine, built_engines());
}

std::vector<std::string> built_engines() {
  std::vector<std::string> names;
  if (has_gloo()) names.emplace_back("gloo");
  if (has_nccl()) names.emplace_back("nccl");
  if (has_mpi()) names.emplace_back("mpi");
  return names;
}

std::string engines_text() { return text_of(built_engines()); }

std::string choose_engine(const RankPlace& place, const JoinOptions& options,
                          const std::vector<std::string>& built, int64_t gpus) {
  check_built(options.engine, built);
  const std::string engine = options.engine == "auto"
                                 ? automatic_engine(place, options, built, gpus)
                                 : options.engine;
  if (engine == "nccl" && !options.device.is_cuda()) {
    throw ConfigError("the engine nccl needs the device cuda");
  }
  if (engine != "mpi" && place.size > 1 && !has_meeting_place(place)) {
    throw ConfigError(
        "the engine " + engine +
        " needs MASTER_ADDR and MASTER_PORT in the environment: where rank 0 "
        "runs, and a free port there");
  }
  return engine;
}

std::unique_ptr<Communicator> join_ranks(const RankPlace& place,
                                         const JoinOptions& options) {
  if (place.size == 1 && options.engine == "auto") return make_alone();
  const JoinOptions complete = with_defaults(options);
  const auto gpus = static_cast<int64_t>(torch::cuda::device_count());
  const std::string engine =
      choose_engine(place, complete, built_engines(), gpus);
  std::unique_ptr<Communicator> ranks =
      engine == "nccl"  ? join_nccl(place, complete)
      : engine == "mpi" ? join_mpi(place, complete)
                        : join_gloo(place, complete);
  ranks->set_ranks_here(place.local_size);
  return ranks;
}

}  // namespace kith
