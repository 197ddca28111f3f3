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

std::vector<MetricColumn> published_column(const ConfigNode& config) {
  const ConfigNode* section = config.find("published");
  if (section == nullptr || !section->is_map()) return {};
  MetricColumn column{"published", {}, ""};
  for (const auto& [name, value] : section->entries) {
    if (name == "source") {
      column.source = value.scalar;
    } else {
      column.values[name] = std::stod(value.scalar) / 100;
    }
  }
  return {column};
}

void print_metrics(const EvalResult& result,
                   const std::vector<MetricColumn>& beside) {
  const auto print_row = [&](const std::string& name, const auto& cell,
                             const std::string& last) {
    std::printf("%-18s", name.c_str());
    for (const MetricColumn& column : beside) {
      std::printf(" %10s", std::string(cell(column)).c_str());
    }
    std::printf(" %10s\n", last.c_str());
  };
  if (!beside.empty()) {
    print_row(
        "", [](const MetricColumn& c) { return c.title; }, "trained");
  }
  for (const MetricValue& m : result.metrics) {
    const auto value = [&](const MetricColumn& column) {
      const auto found = column.values.find(m.name);
      return found == column.values.end() ? "" : percent(found->second);
    };
    print_row(m.name, value, percent(m.value));
  }
  for (const MetricColumn& column : beside) {
    if (column.source.empty()) continue;
    print_line(column.title + ": " + column.source);
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
