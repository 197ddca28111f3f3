#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/progress.h"
#include "kith/study/study.h"

namespace kith {

struct SweepOptions {
  std::string out;                     ///< The study's folder.
  std::vector<std::string> program;    ///< First words of every command.
  std::vector<std::string> arguments;  ///< Last ones: --device, --threads.
  int64_t jobs = 1;                    ///< Processes at a time.
  int64_t ranks = 1;                   ///< Of each training.
  /// The GPUs that each of the jobs sees (gpu_slots); empty: those that this
  /// process does.
  std::vector<std::string> gpus = {};
};

/// Carries out some runs of a study, each in a process of its own, and writes
/// the tables and figures again after each (write_study). What is done is not
/// done again, what was begun is continued. A run that fails is logged with the
/// end of its log, and the others go on; returns the names of those that
/// failed. RunError if SIGINT or SIGTERM came, or another sweep is at work in
/// the folder.
std::vector<std::string> run_sweep(const Study& study,
                                   const std::vector<StudyRun>& runs,
                                   const SweepOptions& options,
                                   Progress& progress);

/// Where a study's folder keeps its configuration.
std::string study_file(const std::string& out);

/// Writes what is known of a study to its folder: study.yaml, table.{md,csv,
/// tex}, results.json, search.json of a search, and the figures.
void write_study(const Study& study, const std::string& out);

}  // namespace kith
