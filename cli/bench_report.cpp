#include "cli/bench_report.h"

#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "cli/common.h"
#include "kith/ops/cpu_level.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

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

Json to_json(const Timing& time) {
  return {{"median", rounded(time.median, 1e4)},
          {"min", rounded(time.min, 1e4)},
          {"repeats", time.repeats}};
}

Json memory_json(const std::optional<double>& mb) {
  return mb ? Json(rounded(*mb, 1e3)) : Json();
}

Json options_json(const ConfigNode& section) {
  Json options = to_json(section);
  options.erase("name");
  return options;
}

/// What is measured, and on what.
Json subject_json(const BenchSubject& subject) {
  return {{"name", subject.name},
          {"device", device_text(subject.batch.device)},
          {"threads", torch::get_num_threads()},
          {"cpu", name_of(cpu_level())},
          {"batch", subject.batch.batch},
          {"dim", subject.batch.dim},
          {"per_class", subject.batch.per_class}};
}

}  // namespace

Json bench_json(const BenchSubject& subject, const LossBenchResult& result) {
  Json json = subject_json(subject);
  json.update(
      Json{{"positives", result.positives},
           {"simix", result.simix},
           {"rows", result.rows},
           {"tuples", result.tuples ? Json(*result.tuples) : Json()},
           {"miner", result.tuples ? Json(result.miner) : Json()},
           {"precision", subject.precision},
           {"products", result.products_precision},
           {"time_ms", to_json(result.time)},
           {"products_ms", rounded(result.products.median, 1e4)},
           {"products_gflops", rounded(result.products_gflops, 10)},
           {"products_rows_timed", result.products_rows_timed},
           {"ratio", rounded(result.time.median / result.products.median, 1e3)},
           {"extra_memory_mb", memory_json(result.extra_memory_mb)},
           {"value", result.value},
           {"seed", subject.batch.seed},
           {"sorted", subject.batch.sorted},
           {"options", options_json(result.options)}});
  return json;
}

Json bench_json(const BenchSubject& subject, const MinerBenchResult& result) {
  Json json = subject_json(subject);
  json.update(Json{{"tuples", result.tuples},
                   {"width", result.width},
                   {"precision", subject.precision},
                   {"time_ms", to_json(result.time)},
                   {"extra_memory_mb", memory_json(result.extra_memory_mb)},
                   {"seed", subject.batch.seed},
                   {"sorted", subject.batch.sorted},
                   {"options", options_json(result.options)}});
  return json;
}

Json bench_json(const BenchSubject& subject, const SearchBenchResult& result) {
  Json json = subject_json(subject);
  json.update(
      Json{{"time_ms", to_json(result.time)},
           {"product_ms", rounded(result.product.median, 1e4)},
           {"ratio", rounded(result.time.median / result.product.median, 1e3)},
           {"extra_memory_mb", memory_json(result.extra_memory_mb)},
           {"recall_any@1", result.recall},
           {"seed", subject.batch.seed}});
  return json;
}

namespace {

/// The heading of all tables; `more` ends its second line.
void print_subject(const BenchSubject& subject, const std::string& more) {
  std::printf("%s on %s, %s, %d thread(s), %s\n", subject.name.c_str(),
              device_text(subject.batch.device).c_str(),
              subject.precision.c_str(), torch::get_num_threads(),
              name_of(cpu_level()).c_str());
  print_line("M = " + std::to_string(subject.batch.batch) + " (" +
             std::to_string(subject.batch.per_class) + " a class), d = " +
             std::to_string(subject.batch.dim) + more + "\n");
}

void print_time(const char* what, const Timing& time) {
  std::printf("%-18s %12.3f ms   median of %d, minimum %.3f ms\n", what,
              time.median, time.repeats, time.min);
}

void print_memory(const std::optional<double>& mb) {
  if (mb) {
    std::printf("extra memory       %12.1f MB\n", *mb);
  } else {
    std::printf("extra memory       %12s\n", "unknown");
  }
}

}  // namespace

void print_bench_table(const BenchSubject& subject,
                       const SearchBenchResult& result) {
  print_subject(subject, "");
  print_time(subject.name == "knn" ? "nearest items" : "ranks and metrics",
             result.time);
  print_time("one product", result.product);
  std::printf("ratio              %12.2f\n",
              result.time.median / result.product.median);
  print_memory(result.extra_memory_mb);
  std::printf("recall_any@1       %12.6g\n", result.recall);
}

void print_bench_table(const BenchSubject& subject,
                       const LossBenchResult& result) {
  const std::string tuples =
      result.tuples
          ? ", " + std::to_string(*result.tuples) + " tuples by " + result.miner
          : "";
  print_subject(subject, ", " + std::to_string(result.rows) + " rows, |P| = " +
                             std::to_string(result.positives) +
                             (result.simix ? ", SiMix" : "") + tuples);
  print_time("value and gradient", result.time);
  std::printf("three products     %12.3f ms   %s, %.1f GFLOP/s%s\n",
              result.products.median, result.products_precision.c_str(),
              result.products_gflops,
              result.products_rows_timed < subject.batch.batch
                  ? ", scaled from a part"
                  : "");
  std::printf("ratio              %12.2f\n",
              result.time.median / result.products.median);
  print_memory(result.extra_memory_mb);
  std::printf("value              %12.6g\n", result.value);
}

void print_bench_table(const BenchSubject& subject,
                       const MinerBenchResult& result) {
  print_subject(subject, "");
  print_time("mining", result.time);
  print_memory(result.extra_memory_mb);
  std::printf("tuples             %12lld of %lld\n",
              static_cast<long long>(result.tuples),
              static_cast<long long>(result.width));
}

}  // namespace kith
