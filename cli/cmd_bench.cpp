#include <c10/util/Exception.h>
#include <nlohmann/json.hpp>

#include "cli/bench_report.h"
#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"

namespace kith {
namespace {

constexpr const char* kExplanation = R"(What is measured

loss:NAME, any loss of: kith list losses. Its value and gradient, forward and
backward. A loss on tuples gets those of its default miner, mined before.
miner:NAME, any miner of: kith list miners. A call that chooses tuples.
eval. Ranks of all positives when every item is searched among the others, and
recall_any@1,10,100,1000 and map_at_r of them.
knn. The --k nearest items of every item.
rerank:NAME, any reranker of: kith list rerankers. As eval, after re-ranking.
Of several names each is measured in turn; one that fails is reported as such,
the others go on, and the exit code is 1. With --json they are the entries of
"benchmarks" in one object.

Both on a random batch of unit vectors: each class has a random centre, its
examples are the centre and noise, and positives are on average 3 standard
deviations more similar than negatives, so that ranks are neither perfect nor
random; --similarity 0.6 is more like the embeddings of a trained network. A seed
means the same batch on every device.

  time          value and gradient, or a call of the miner: median and minimum
                of repeated runs, after warming up. At least 3 runs and
                --seconds, at most 100 runs.
  one product   of eval, knn and rerank: all similarities, M x M x d, in float32 by
                blocks of rows; ratio is time / one product.
  products      in the same way, three products of M x M x d by blocks of rows:
                the arithmetic that no loss on all similarities can do without
                (similarities, and their gradient times each side), in the
                precision that the loss uses. Where they would take over 20 s a
                part of the rows is timed and scaled (products_rows_timed).
  ratio         time / products, of the medians.
  extra memory  the most beyond the inputs during one run, the gradient or the
                tuples included, in MB of 2^20 bytes. On a GPU the memory of
                tensors; on the CPU the process's resident memory, good to a
                megabyte, and null where the system keeps no high-water mark.
  rows          of the similarity matrix: M and, with SiMix, virtual examples.
  positives     |P|, the other rows of a row's class.
  tuples        chosen by a miner, or given to a loss on tuples (else null).
                Products, ratio, rows and positives are of losses only.

Examples
  kith bench loss:recall_at_k --batch 4096 --dim 512 --json
  kith bench loss:recall_at_k --simix --set t2=0.05 --set memory_mb=64
  kith bench loss:recall_at_k --device cuda --set products=tf32
  kith bench eval --batch 60502 --dim 512 --per-class 2
  kith bench rerank:k_reciprocal --batch 100000 --dim 512 --per-class 10 \
      --similarity 0.6
  kith bench miner:distance_weighted --batch 2000 --set cutoff=0.4)";

using Json = nlohmann::ordered_json;

struct BenchFlags : BenchSubject {
  std::vector<std::string> names;
  std::vector<std::string> overrides;
  double seconds = 1.0;
  int64_t k = 10;
  bool simix = false;
  bool json = false;
  DeviceFlags device;
};

constexpr const char* kLoss = "loss:";
constexpr const char* kMiner = "miner:";
constexpr const char* kRerank = "rerank:";

bool is_search(const std::string& name) {
  return name == "eval" || name == "knn";
}

[[noreturn]] void throw_unknown_benchmark(const std::string& name) {
  std::vector<std::string> known = {"eval", "knn"};
  for (const std::string& loss : loss_registry().names()) {
    known.push_back(kLoss + loss);
  }
  for (const std::string& miner : miner_registry().names()) {
    known.push_back(kMiner + miner);
  }
  for (const std::string& reranker : reranker_registry().names()) {
    known.push_back(kRerank + reranker);
  }
  throw_unknown("", "benchmark", name, known);
}

/// The part's name, without `kind`, and its options.
ConfigNode section_of(const BenchFlags& flags, const std::string& kind) {
  ConfigNode section = ConfigNode::map();
  for (const std::string& text : flags.overrides) {
    apply_override(section, text, "--set");
  }
  if (flags.simix) {
    section.set("simix", ConfigNode::text("true")).where = "--simix";
  }
  section.set("name", ConfigNode::text(flags.name.substr(kind.size())));
  return section;
}

void check_batch(int64_t batch, int64_t per_class) {
  const int64_t below = batch / per_class * per_class;
  if (below == batch) return;
  throw ConfigError(
      "--batch " + std::to_string(batch) +
      " is not a multiple of --per-class " + std::to_string(per_class) +
      ": use --batch " +
      (below > 0 ? std::to_string(below) + " or " : std::string()) +
      std::to_string(below + per_class) + ", or another --per-class");
}

/// What was measured; as a table it is shown at once.
template <class Result>
Json report(const BenchFlags& flags, const Result& result) {
  if (!flags.json) print_bench_table(flags, result);
  return bench_json(flags, result);
}

/// Measures the part `flags.name`.
Json run_one(const BenchFlags& flags) {
  if (flags.name.starts_with(kLoss)) {
    const LossBench bench{flags.batch, section_of(flags, kLoss), flags.seconds};
    return report(flags, bench_loss(bench));
  }
  if (is_search(flags.name)) {
    return report(
        flags, bench_search({flags.batch, flags.name, flags.k, flags.seconds}));
  }
  if (flags.name.starts_with(kRerank)) {
    return report(flags,
                  bench_search({flags.batch,
                                "eval",
                                flags.k,
                                flags.seconds,
                                {rerank_step(section_of(flags, kRerank))}}));
  }
  const MinerBench bench{flags.batch, section_of(flags, kMiner), flags.seconds};
  return report(flags, bench_miner(bench));
}

/// What went wrong, in one line. LibTorch's own text ends with a backtrace.
std::string message_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error == nullptr
                         ? error.what()
                         : torch_error->what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

void run_bench(BenchFlags& flags) {
  for (const std::string& name : flags.names) {
    if (!name.starts_with(kLoss) && !name.starts_with(kMiner) &&
        !name.starts_with(kRerank) && !is_search(name)) {
      throw_unknown_benchmark(name);
    }
  }
  flags.batch.device = flags.device.apply();
  flags.batch.float64 = flags.precision == "float64";
  check_batch(flags.batch.batch, flags.batch.per_class);
  Json all = Json::array();
  std::vector<std::string> failed;
  for (const std::string& name : flags.names) {
    flags.name = name;
    try {
      all.push_back(run_one(flags));
    } catch (const std::exception& error) {
      if (flags.names.size() == 1) throw;
      failed.push_back(name);
      const std::string message = message_of(error);
      all.push_back({{"name", name}, {"error", message}});
      if (!flags.json) print_line(name + ": " + message + "\n");
    }
  }
  if (flags.json) {
    print_json(all.size() == 1 ? all[0] : Json({{"benchmarks", all}}));
  }
  if (!failed.empty()) {
    throw RunError("could not be measured: " + join(failed));
  }
}

void add_batch_options(CLI::App& command, BenchBatch& bench) {
  command.add_option("--batch", bench.batch, "M, examples in the batch")
      ->check(integer(2, 1 << 24))
      ->capture_default_str();
  command.add_option("--dim", bench.dim, "d, size of an embedding")
      ->check(integer(1, 1 << 16))
      ->capture_default_str();
  command
      .add_option("--per-class", bench.per_class,
                  "Examples of each class; --batch is a multiple of it")
      ->check(integer(2, 1 << 24))
      ->capture_default_str();
  command.add_flag("--sorted", bench.sorted,
                   "Labels in order; without it they are shuffled");
  command
      .add_option("--similarity", bench.similarity,
                  "Of positives, on average; 0: 3 standard deviations above "
                  "negatives")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  command
      .add_option("--seed", bench.seed,
                  "Seed of the batch, and of what is drawn in it")
      ->check(integer(0))
      ->capture_default_str();
}

}  // namespace

void add_bench(CLI::App& app) {
  auto* command =
      app.add_subcommand("bench", "Times and peak memory of a part of kith");
  auto flags = std::make_shared<BenchFlags>();
  command
      ->add_option("name", flags->names,
                   "loss:NAME, such as loss:recall_at_k, miner:NAME, "
                   "rerank:NAME, eval or knn; or several")
      ->required();
  add_batch_options(*command, flags->batch);
  command
      ->add_option("--seconds", flags->seconds,
                   "Least time spent on each timing; see below")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_option("--k", flags->k, "Neighbours that knn finds")
      ->check(integer(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--simix", flags->simix,
                    "With similarity mixup, for losses that have it");
  command
      ->add_option("--set", flags->overrides,
                   "An option of the part, such as t2=0.1 or memory_mb=64")
      ->allow_extra_args(false);
  command->add_option("--precision", flags->precision, "Of the embeddings")
      ->check(one_of({"float32", "float64"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->device.add_to(*command);
  command->footer(kExplanation);
  command->callback([flags] { run_bench(*flags); });
}

}  // namespace kith
