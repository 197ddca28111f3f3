#include "kith/distributed/launch.h"

#include <charconv>
#include <cstdlib>

#include "kith/core/error.h"
#include "kith/core/quote.h"
#include "kith/distributed/detail/store_variable.h"
#include "kith/distributed/host_list.h"

namespace kith {
namespace {

/// Named values of the environment as numbers.
class Environment {
 public:
  explicit Environment(const Variables& variable) : variable_(variable) {}

  std::optional<std::string> text(const std::string& name) const {
    const auto value = variable_(name);
    return value && value->empty() ? std::nullopt : value;
  }

  bool has(const std::string& name) const { return text(name).has_value(); }

  std::optional<int64_t> number(const std::string& name) const {
    const auto value = text(name);
    if (!value) return {};
    int64_t number = 0;
    const char* last = value->data() + value->size();
    const auto [end, error] = std::from_chars(value->data(), last, number);
    if (error != std::errc() || end != last || number < 0) {
      throw ConfigError(name + " of the environment is " + quote(*value) +
                        "; expected a whole number");
    }
    return number;
  }

  int64_t number_beside(const std::string& name,
                        const std::string& other) const {
    const auto value = number(name);
    if (!value) {
      throw ConfigError("the environment has " + other + " but not " + name +
                        ": a rank needs both");
    }
    return *value;
  }

 private:
  const Variables& variable_;
};

/// Names of variables, and what they say.
struct Pair {
  std::string rank;
  std::string size;
};

void check_pair(const Pair& names, int64_t rank, int64_t size) {
  if (size < 1 || rank >= size) {
    throw ConfigError(names.rank + "=" + std::to_string(rank) + " and " +
                      names.size + "=" + std::to_string(size) +
                      " of the environment do not fit together: ranks are "
                      "numbered from 0");
  }
}

void read_ranks(const Environment& environment, const Pair& names,
                RankPlace& place) {
  place.rank = environment.number_beside(names.rank, names.size);
  place.size = environment.number_beside(names.size, names.rank);
  check_pair(names, place.rank, place.size);
}

void read_local(const Environment& environment, const Pair& names,
                RankPlace& place) {
  place.local_rank = environment.number(names.rank).value_or(place.rank);
  place.local_size = environment.number(names.size).value_or(place.size);
  check_pair(names, place.local_rank, place.local_size);
}

void read_store(const Environment& environment, RankPlace& place) {
  place.address = environment.text("MASTER_ADDR").value_or(place.address);
  if (place.address.empty()) return;
  constexpr int64_t kUsualPort = 29500;
  place.port = environment.number("MASTER_PORT")
                   .value_or(place.port > 0 ? place.port : kUsualPort);
  if (place.port < 1 || place.port > 65535) {
    throw ConfigError("MASTER_PORT=" + std::to_string(place.port) +
                      " of the environment is no port");
  }
}

/// Of torchrun, whose agent may keep the store.
void read_torchrun(const Environment& environment, RankPlace& place) {
  place.launcher = Launcher::kEnvironment;
  read_ranks(environment, {"RANK", "WORLD_SIZE"}, place);
  read_local(environment, {"LOCAL_RANK", "LOCAL_WORLD_SIZE"}, place);
  place.store_is_kept =
      environment.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (place.store_is_kept) {
    // What ranks of an earlier start left there is not ours.
    place.store_prefix =
        "/worker/attempt_" +
        environment.text("TORCHELASTIC_RESTART_COUNT").value_or("0");
  }
  place.store_file = environment.text(kStoreVariable).value_or("");
}

void read_slurm(const Environment& environment, RankPlace& place) {
  place.launcher = Launcher::kSlurm;
  // Not SLURM_NTASKS, which a shell within an allocation has too.
  read_ranks(environment, {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, place);
  place.local_rank = environment.number("SLURM_LOCALID").value_or(place.rank);
  const auto counts = environment.text("SLURM_STEP_TASKS_PER_NODE");
  place.local_size =
      counts ? count_of_node(*counts,
                             environment.number("SLURM_NODEID").value_or(0))
             : place.size;
  check_pair({"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}, place.local_rank,
             place.local_size);
  const auto hosts = environment.text("SLURM_STEP_NODELIST");
  if (hosts) place.address = first_host(*hosts);
  // Steps of a job, and jobs on a machine, have different ports; below those
  // that the system gives to clients.
  const int64_t job = environment.number("SLURM_JOB_ID").value_or(0);
  const int64_t step = environment.number("SLURM_STEP_ID").value_or(0);
  place.port = 20'000 + (job * 31 + step) % 12'000;
}

}  // namespace

RankPlace find_ranks(const Variables& variable) {
  const Environment environment(variable);
  RankPlace place;
  if (environment.has("RANK") || environment.has("WORLD_SIZE")) {
    read_torchrun(environment, place);
  } else if (environment.has("OMPI_COMM_WORLD_SIZE")) {
    place.launcher = Launcher::kMpi;
    read_ranks(environment, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
               place);
    read_local(environment,
               {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
               place);
  } else if (environment.has("SLURM_STEP_NUM_TASKS")) {
    read_slurm(environment, place);
  } else {
    return place;
  }
  read_store(environment, place);
  return place;
}

RankPlace find_ranks() {
  return find_ranks([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return {};
    return value;
  });
}

}  // namespace kith
