#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "cli/bench_loss.h"
#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/losses/loss.h"
#include "kith/ops/cpu_level.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExplanation = R"(What is measured

loss:NAME, any loss of: kith list losses. Its value and gradient, forward and
backward, on a random batch of unit vectors: each class has a random centre,
its examples are the centre and noise, and positives are on average 3 standard
deviations more similar than negatives, so that ranks are neither perfect nor
random. A seed means the same batch on every device.

  time          value and gradient: median and minimum of repeated runs, after
                warming up. At least 3 runs and --seconds, at most 100 runs.
  products      in the same way, three products of M x M x d by blocks of rows:
                the arithmetic that no loss on all similarities can do without
                (similarities, and their gradient times each side), in the
                precision that the loss uses. Where they would take over 20 s a
                part of the rows is timed and scaled (products_rows_timed).
  ratio         time / products, of the medians.
  extra memory  the most beyond the inputs during one value and gradient, the
                gradient included, in MB of 2^20 bytes. On a GPU the memory of
                tensors; on the CPU the process's resident memory, good to a
                megabyte, and null where the system keeps no high-water mark.
  rows          of the similarity matrix: M and, with SiMix, virtual examples.
  positives     |P|, the other rows of a row's class.

Examples
  kith bench loss:recall_at_k --batch 4096 --dim 512 --json
  kith bench loss:recall_at_k --simix --set t2=0.05 --set memory_mb=64
  kith bench loss:recall_at_k --device cuda --set products=tf32)";

struct BenchFlags {
  std::string name;
  std::string precision = "float32";
  std::vector<std::string> overrides;
  LossBench loss;
  bool simix = false;
  bool json = false;
  DeviceFlags device;
};

/// The NAME of "loss:NAME".
std::string loss_name(const std::string& name) {
  const std::string kind = "loss:";
  if (name.starts_with(kind)) return name.substr(kind.size());
  std::vector<std::string> known;
  for (const std::string& loss : loss_registry().names()) {
    known.push_back(kind + loss);
  }
  throw_unknown("", "benchmark", name, known);
}

ConfigNode loss_section(const BenchFlags& flags) {
  ConfigNode section = ConfigNode::map();
  for (const std::string& text : flags.overrides) {
    apply_override(section, text);
  }
  if (flags.simix) {
    section.set("simix", ConfigNode::text("true")).where = "--simix";
  }
  section.set("name", ConfigNode::text(loss_name(flags.name)));
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

std::string device_text(c10::Device device) {
  if (!device.is_cuda()) return device.str();
  const std::string name = gpu_name(device.index());
  return device.str() + (name.empty() ? "" : " (" + name + ")");
}

Json to_json(const ConfigNode& node) {
  Json json;
  if (node.kind == ConfigNode::Kind::kMap) {
    json = Json::object();
    for (const auto& [key, value] : node.entries) json[key] = to_json(value);
  } else if (node.kind == ConfigNode::Kind::kList) {
    json = Json::array();
    for (const ConfigNode& item : node.items) json.push_back(to_json(item));
  } else if (node.kind == ConfigNode::Kind::kScalar) {
    // Numbers and booleans are written as in JSON; other words are text.
    if (!node.quoted) json = Json::parse(node.scalar, nullptr, false);
    if (node.quoted || json.is_discarded()) json = node.scalar;
  }
  return json;
}

/// Digits that mean nothing are not for people to read.
double rounded(double value, double steps) {
  return std::round(value * steps) / steps;
}

Json to_json(const BenchFlags& flags, const LossBenchResult& result) {
  Json options = to_json(result.options);
  options.erase("name");
  Json memory;  // null
  if (result.extra_memory_mb) memory = rounded(*result.extra_memory_mb, 1e3);
  return {{"name", flags.name},
          {"device", device_text(flags.loss.device)},
          {"threads", torch::get_num_threads()},
          {"cpu", name_of(cpu_level())},
          {"batch", flags.loss.batch},
          {"dim", flags.loss.dim},
          {"per_class", flags.loss.per_class},
          {"positives", result.positives},
          {"simix", result.simix},
          {"rows", result.rows},
          {"precision", flags.precision},
          {"products", result.products_precision},
          {"time_ms",
           {{"median", rounded(result.time.median, 1e4)},
            {"min", rounded(result.time.min, 1e4)},
            {"repeats", result.time.repeats}}},
          {"products_ms", rounded(result.products.median, 1e4)},
          {"products_gflops", rounded(result.products_gflops, 10)},
          {"products_rows_timed", result.products_rows_timed},
          {"ratio", rounded(result.time.median / result.products.median, 1e3)},
          {"extra_memory_mb", memory},
          {"value", result.value},
          {"seed", flags.loss.seed},
          {"sorted", flags.loss.sorted},
          {"options", options}};
}

void print_table(const BenchFlags& flags, const LossBenchResult& result) {
  const LossBench& bench = flags.loss;
  std::printf("%s on %s, %s, %d thread(s), %s\n", flags.name.c_str(),
              device_text(bench.device).c_str(), flags.precision.c_str(),
              torch::get_num_threads(), name_of(cpu_level()).c_str());
  print_line("M = " + std::to_string(bench.batch) + " (" +
             std::to_string(bench.per_class) + " a class), d = " +
             std::to_string(bench.dim) + ", " + std::to_string(result.rows) +
             " rows, |P| = " + std::to_string(result.positives) +
             (result.simix ? ", SiMix" : "") + "\n");
  std::printf("value and gradient %12.3f ms   median of %d, minimum %.3f ms\n",
              result.time.median, result.time.repeats, result.time.min);
  std::printf(
      "three products     %12.3f ms   %s, %.1f GFLOP/s%s\n",
      result.products.median, result.products_precision.c_str(),
      result.products_gflops,
      result.products_rows_timed < bench.batch ? ", scaled from a part" : "");
  std::printf("ratio              %12.2f\n",
              result.time.median / result.products.median);
  if (result.extra_memory_mb) {
    std::printf("extra memory       %12.1f MB\n", *result.extra_memory_mb);
  } else {
    std::printf("extra memory       %12s\n", "unknown");
  }
  std::printf("value              %12.6g\n", result.value);
}

void run_bench(BenchFlags& flags) {
  flags.loss.device = flags.device.apply();
  flags.loss.loss = loss_section(flags);
  flags.loss.float64 = flags.precision == "float64";
  check_batch(flags.loss.batch, flags.loss.per_class);
  const LossBenchResult result = bench_loss(flags.loss);
  if (flags.json) {
    print_line(to_json(flags, result).dump(2));
  } else {
    print_table(flags, result);
  }
}

void add_batch_options(CLI::App& command, LossBench& bench) {
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
  command.add_option("--seed", bench.seed, "Seed of the batch, and of SiMix")
      ->check(integer(0))
      ->capture_default_str();
  command
      .add_option("--seconds", bench.seconds,
                  "Least time spent on each timing; see below")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
}

}  // namespace

void add_bench(CLI::App& app) {
  auto* command =
      app.add_subcommand("bench", "Times and peak memory of a part of kith");
  auto flags = std::make_shared<BenchFlags>();
  command
      ->add_option("name", flags->name, "loss:NAME, such as loss:recall_at_k")
      ->required();
  add_batch_options(*command, flags->loss);
  command->add_flag("--simix", flags->simix,
                    "With similarity mixup, for losses that have it");
  command
      ->add_option("--set", flags->overrides,
                   "An option of the loss, such as t2=0.1 or memory_mb=64")
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
