#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace kith {

/// What is wrong with the command line, in one line: a misspelt command or
/// option with the nearest name, else what the parser found. Ends with the
/// help that answers it.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error);

/// A message of the library as users of the program know its options: "option
/// 'long_side'" becomes "--long-side".
std::string flag_words(const std::string& message);

/// Refuses words that are not among `allowed`, with the nearest one.
CLI::Validator one_of(const std::vector<std::string>& allowed);

/// Refuses what is not an integer from `lo` to `hi`.
CLI::Validator integer(int64_t lo,
                       int64_t hi = std::numeric_limits<int64_t>::max());

/// --checkpoint of a command that takes a run: last, best or an epoch.
/// `usual` says what is taken without it.
void add_checkpoint_flag(CLI::App& command, std::string& checkpoint,
                         const std::string& usual = "last");

/// --rerank, which may come several times; `what` says what it does.
void add_rerank_flag(CLI::App& command, std::vector<std::string>& texts,
                     const std::string& what);

}  // namespace kith
