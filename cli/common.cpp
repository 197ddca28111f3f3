#include "cli/common.h"

#include <cmath>
#include <cstdio>
#include <ctime>

#include <nlohmann/json.hpp>

#include "cli/usage.h"
#include "kith/core/device.h"
#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/train/run_config.h"

namespace kith {

void DeviceFlags::add_to(CLI::App& command) {
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  command
      .add_option("--threads", threads,
                  "Threads on the CPU; 0: one a core. Results are the same to "
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

void install_log() {
  set_log_sink([](LogLevel level, const std::string& message) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    char clock[16];
    std::strftime(clock, sizeof(clock), "%H:%M:%S", &local);
    progress_bar().erase();
    std::fprintf(stderr, "%s %s%s\n", clock,
                 level == LogLevel::kWarning ? "warning: " : "",
                 message.c_str());
  });
}

void print_line(const std::string& text) { std::printf("%s\n", text.c_str()); }

std::string percent(double value) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f%%", 100 * value);
  return text;
}

void print_metrics(const EvalResult& result, const EvalResult* before) {
  if (before != nullptr) {
    std::printf("%-18s %10s %10s\n", "", "untrained", "trained");
  }
  for (const MetricValue& m : result.metrics) {
    if (before == nullptr) {
      std::printf("%-18s %10s\n", m.name.c_str(), percent(m.value).c_str());
    } else {
      std::printf("%-18s %10s %10s\n", m.name.c_str(),
                  percent(before->at(m.name)).c_str(),
                  percent(m.value).c_str());
    }
  }
  print_line("(" + result.protocol_line() + ")");
}

std::string metrics_json(const EvalResult& result) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const MetricValue& m : result.metrics) json[m.name] = m.value;
  json["protocol"] = {{"queries", result.queries},
                      {"gallery", result.gallery},
                      {"queries_without_positives", result.without_positives},
                      {"rules", result.protocol_line()}};
  return json.dump(2);
}

ConfigNode load_with_overrides(const std::string& path,
                               const std::vector<std::string>& overrides) {
  ConfigNode config = load_config(path);
  for (const std::string& text : overrides) apply_override(config, text);
  return config;
}

std::unique_ptr<DataSet> data_from_path(const std::string& path) {
  if (!path.ends_with(".yaml") && !path.ends_with(".yml")) {
    return open_data_set(path);
  }
  const ConfigNode config = load_config(path);
  const ConfigNode* section = config.find("data");
  if (section == nullptr) {
    throw ConfigError(path + ": no 'data' section");
  }
  return make_data_set(*section);
}

}  // namespace kith
