#include "cli/common.h"

#include <cstdio>

#include "cli/this_rank.h"
#include "cli/usage.h"
#include "kith/core/device.h"
#include "kith/core/error.h"
#include "kith/core/json_text.h"
#include "kith/core/log.h"
#include "kith/core/quote.h"

namespace kith {

void DeviceFlags::add_to(CLI::App& command) {
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  command
      .add_option(
          "--threads", threads,
          "Threads on the CPU; 0: one per core. Results are the same to "
          "the bit only with the same number")
      ->check(integer(0, 1024))
      ->capture_default_str();
}

c10::Device DeviceFlags::apply() const {
  set_threads(threads);
  return parse_device(device);
}

ProgressBar& progress_bar() {
  static ProgressBar bar;
  return bar;
}

std::vector<std::string>& loaded_plugins() {
  static std::vector<std::string> files;
  return files;
}

namespace {

/// Lines after the first of a message are indented, as those of a table; any
/// other line break is a name's.
std::string log_text(const std::string& message) {
  std::string text;
  for (size_t begin = 0;;) {
    const size_t end = message.find("\n ", begin);
    text += printable(message.substr(begin, end - begin));
    if (end == std::string::npos) return text;
    text += '\n';
    begin = end + 1;
  }
}

}  // namespace

void install_log() {
  set_log_sink([](LogLevel level, const std::string& message) {
    // Ranks do the same and would say the same; what ends one alone is an
    // error, which it says itself.
    if (!speaks()) return;
    progress_bar().erase();
    std::fprintf(stderr, "%s%s%s\n", clock_text().c_str(),
                 level == LogLevel::kWarning ? "warning: " : "",
                 log_text(flag_words(message)).c_str());
  });
}

void print_text(const std::string& text) {
  std::printf("%s", printable_lines(text).c_str());
}

void print_line(const std::string& text) { print_text(text + "\n"); }

void print_json(const nlohmann::ordered_json& json, int indent) {
  std::printf("%s\n", json_text(json, indent).c_str());
}

std::string shell_word(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                           "XYZ0123456789_-+=./:,@%") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

ConfigNode load_with_overrides(const std::string& path,
                               const std::vector<std::string>& overrides) {
  ConfigNode config = load_config(path);
  for (const std::string& text : overrides) {
    apply_override(config, text, "--set");
  }
  return config;
}

}  // namespace kith
