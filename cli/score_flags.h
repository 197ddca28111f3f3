#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "kith/eval/evaluate.h"

namespace kith {

/// What `kith eval` and `kith metrics` let users say about scoring.
struct ScoreFlags {
  std::string metrics;
  std::vector<std::string> rerank;
  std::string no_positive = "leave_out";
  int64_t bootstrap = 1000;
  int64_t seed = 0;
  int64_t memory_mb = 512;
  bool by_class = false;
  bool json = false;
  std::string format = "table";

  /// `usual`: what is computed without --metrics, in words.
  void add_to(CLI::App& command, const std::string& usual);
  EvaluateOptions options() const;
};

/// The words of a list with commas; none of an empty text.
std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace kith
