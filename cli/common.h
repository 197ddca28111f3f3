#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/progress_bar.h"
#include "kith/core/config.h"
#include "kith/data/data_set.h"
#include "kith/eval/evaluate.h"

namespace kith {

/// Each adds its subcommand, whose callback does the work.
void add_demo(CLI::App& app);
void add_data(CLI::App& app);
void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_embed(CLI::App& app);
void add_metrics(CLI::App& app);
void add_loss(CLI::App& app);
void add_bench(CLI::App& app);
void add_plot(CLI::App& app);
void add_list(CLI::App& app);

/// --device and --threads.
struct DeviceFlags {
  std::string device = "auto";
  int64_t threads = 0;

  void add_to(CLI::App& command);
  /// Sets the threads and returns the device.
  c10::Device apply() const;
};

/// The bar on the terminal. One for the program: log lines go above it.
ProgressBar& progress_bar();

/// Sends log messages to standard error, with the time of day.
void install_log();

/// A line on standard output.
void print_line(const std::string& text = "");

/// "94.31%", or "-" for a value that is not defined.
std::string percent(double value);

/// Values of metrics that are shown beside those of a model.
struct MetricColumn {
  std::string title;
  std::map<std::string, double> values;
  std::string source = {};  ///< Where they are from, if they are cited.
};

/// The numbers of a configuration's `published` section; none without one.
std::vector<MetricColumn> published_column(const ConfigNode& config);

/// The metrics as a table, with the rules they stand on.
void print_metrics(const EvalResult& result,
                   const std::vector<MetricColumn>& beside = {});

/// One JSON object: an entry a metric, by its name, and "protocol" with the
/// numbers of queries and gallery items and the rules.
std::string metrics_json(const EvalResult& result);

/// The configuration of a file with overrides ("a.b=c") applied.
ConfigNode load_with_overrides(const std::string& path,
                               const std::vector<std::string>& overrides);

/// A data set from a configuration file, a folder or a list.
std::unique_ptr<DataSet> data_from_path(const std::string& path);

}  // namespace kith
