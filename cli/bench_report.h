#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

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

/// What was measured, for programs.
nlohmann::ordered_json bench_json(const BenchSubject& subject,
                                  const LossBenchResult& result);
nlohmann::ordered_json bench_json(const BenchSubject& subject,
                                  const MinerBenchResult& result);
nlohmann::ordered_json bench_json(const BenchSubject& subject,
                                  const SearchBenchResult& result);

/// The same for people.
void print_bench_table(const BenchSubject& subject,
                       const LossBenchResult& result);
void print_bench_table(const BenchSubject& subject,
                       const MinerBenchResult& result);
void print_bench_table(const BenchSubject& subject,
                       const SearchBenchResult& result);

}  // namespace kith
