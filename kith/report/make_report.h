#pragma once

#include <string>
#include <vector>

#include "kith/core/device.h"
#include "kith/core/progress.h"
#include "kith/report/insight.h"
#include "kith/report/report.h"

namespace kith {

/// What a report is made of and what is wanted in it.
struct ReportOptions {
  std::vector<std::string> runs = {};   ///< Their folders.
  std::vector<std::string> names = {};  ///< One for each; empty: the folders'.
  std::string title = {};               ///< Empty: from the names of the runs.
  std::string made_by = "kith";         ///< For the foot of the page.
  /// What looks for near duplicates, for runs in which nothing did.
  std::string duplicates_hint = "an evaluation with diagnostics does";
  std::string checkpoint = "last";  ///< See choose_checkpoint().
  bool network = true;  ///< False: only what the folders say themselves.
  InsightOptions insight = {};
};

/// Reads the runs and, with their networks and data, looks at what they find.
/// A run whose checkpoint or data cannot be used is there with what its folder
/// says, and a warning tells why. DataError for a folder that holds no run,
/// ConfigError for one that is there twice, and for
/// names that are not one for each run, all different.
Report make_report(const ReportOptions& options, c10::Device device,
                   Progress& progress = silent_progress());

/// Writes the page and returns its size in bytes.
size_t write_report(const Report& report, const std::string& path);

}  // namespace kith
