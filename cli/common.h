#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "cli/progress_bar.h"
#include "kith/core/config.h"
#include "kith/core/device.h"

namespace kith {

/// Each adds its subcommand, whose callback does the work.
void add_demo(CLI::App& app);
void add_data(CLI::App& app);
void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_report(CLI::App& app);
void add_embed(CLI::App& app);
void add_export(CLI::App& app);
void add_index(CLI::App& app);
void add_search(CLI::App& app);
void add_serve(CLI::App& app);
void add_metrics(CLI::App& app);
void add_loss(CLI::App& app);
void add_bench(CLI::App& app);
void add_plot(CLI::App& app);
void add_list(CLI::App& app);
void add_completion(CLI::App& app);
void add_sweep(CLI::App& app);
void add_folds(CLI::App& app);

/// Whether parts of this kind are registered by name, as "loss" is.
bool is_part_kind(const std::string& kind);

/// The libraries that --plugin named, in order.
std::vector<std::string>& loaded_plugins();

/// Ends the program with this exit code; what there was to say is said.
struct ProgramEnd {
  int status = 0;
};

/// --device and --threads.
struct DeviceFlags {
  std::string device = "auto";
  int64_t threads = 0;

  void add_to(CLI::App& command);
  /// Sets the threads and returns the device.
  c10::Device apply() const;
};

/// The bar on the terminal, or lines in a log. One for the program: messages go
/// above it.
ProgressBar& progress_bar();

/// Sends log messages to standard error, with the time of day.
void install_log();

/// A text on standard output. It may hold names from files: what a terminal
/// would obey is written as an escape (printable_lines), here and below.
void print_text(const std::string& text);

/// A line on standard output.
void print_line(const std::string& text = "");

/// JSON and the end of the line on standard output.
void print_json(const nlohmann::ordered_json& json, int indent = 2);

/// A word of a command line as a shell takes it: in quotes if it needs them.
std::string shell_word(const std::string& word);

/// The configuration of a file with overrides ("a.b=c") applied.
ConfigNode load_with_overrides(const std::string& path,
                               const std::vector<std::string>& overrides);

}  // namespace kith
