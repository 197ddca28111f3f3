#pragma once

#include <string>

#include "cli/bench_loss.h"
#include "cli/bench_miner.h"
#include "cli/bench_search.h"

namespace kith {

/// What is measured, and on what.
struct BenchSubject {
  std::string name;                   ///< "loss:recall_at_k"
  std::string precision = "float32";  ///< Or "float64".
  BenchBatch batch;
};

/// One JSON object on standard output.
void print_bench_json(const BenchSubject& subject,
                      const LossBenchResult& result);
void print_bench_json(const BenchSubject& subject,
                      const MinerBenchResult& result);
void print_bench_json(const BenchSubject& subject,
                      const SearchBenchResult& result);

/// The same for people.
void print_bench_table(const BenchSubject& subject,
                       const LossBenchResult& result);
void print_bench_table(const BenchSubject& subject,
                       const MinerBenchResult& result);
void print_bench_table(const BenchSubject& subject,
                       const SearchBenchResult& result);

/// Of a part that could not be measured: its name and why.
void print_bench_failure(const std::string& name, const std::string& message,
                         bool json);

}  // namespace kith
