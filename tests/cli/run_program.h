#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace kith {

/// What a program did, as its caller sees it.
struct ProgramResult {
  int exit_code = -1;  ///< -1 if a signal ended it.
  int signal = 0;      ///< The signal that ended it, else 0.
  std::string out;
  std::string err;
};

struct ProgramOptions {
  std::string folder = {};                    ///< Where it runs.
  std::chrono::seconds timeout{300};          ///< Then it is killed.
  std::function<bool()> kill_when = nullptr;  ///< A signal once this is true.
  int signal = SIGKILL;                       ///< That one.
  bool insist = false;                        ///< Again, until it ends.
};

/// Runs a program without a shell; argv[0] is its path. Standard input is
/// empty, standard output and error are collected. Throws std::system_error
/// if it cannot be started.
ProgramResult run_program(const std::vector<std::string>& argv,
                          const ProgramOptions& options = {});

/// The program `kith` with these arguments.
ProgramResult run_kith(const std::vector<std::string>& arguments,
                       const ProgramOptions& options = {});

/// Runs it and expects success; the result is for its output.
ProgramResult expect_success(const std::vector<std::string>& arguments,
                             const ProgramOptions& options = {});

/// Runs it and expects this exit code (1: the run failed, 2: wrong usage or
/// configuration), nothing on standard output, and as the last line of standard
/// error "kith: " and a message that holds every part.
ProgramResult expect_failure(int exit_code,
                             const std::vector<std::string>& arguments,
                             const std::vector<std::string_view>& parts,
                             const ProgramOptions& options = {});

/// Of a file of a few megabytes.
std::string contents(const std::string& path);

/// Lines of a file that are complete; 0 if there is no such file.
int count_lines(const std::string& path);

}  // namespace kith
