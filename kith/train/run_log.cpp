#include "kith/train/run_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxLogBytes = uint64_t{4} << 30;

/// Microseconds are enough, and keep lines short.
double rounded(double seconds) {
  return static_cast<double>(static_cast<int64_t>(seconds * 1e6 + 0.5)) / 1e6;
}

/// Whether a line is a record of a step up to last_step.
bool is_kept(std::string_view line, int64_t last_step) {
  try {
    const Json record = parse_json(line);
    return record.is_object() && record.value("step", int64_t{0}) <= last_step;
  } catch (const Json::exception&) {
    return false;
  }
}

/// The complete lines that belong to steps up to last_step.
std::string kept_lines(const std::string& text, int64_t last_step) {
  std::string kept;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) return kept;
    const auto line = std::string_view(text).substr(begin, end - begin + 1);
    if (!is_kept(line, last_step)) return kept;
    kept += line;
    begin = end + 1;
  }
}

}  // namespace

std::vector<std::pair<const char*, Phase>> Phases::all() const {
  return {{"data", data},
          {"forward", forward},
          {"loss", loss},
          {"backward", backward},
          {"optimizer", optimizer}};
}

double Phases::seconds() const {
  double sum = 0;
  for (const auto& [name, phase] : all()) sum += phase.seconds;
  return sum;
}

int64_t Phases::peak_bytes() const {
  int64_t peak = 0;
  for (const auto& [name, phase] : all()) {
    peak = std::max(peak, phase.peak_bytes);
  }
  return peak;
}

void StepTotals::add(const StepRecord& record) {
  const auto add_phase = [](Phase& sum, const Phase& phase) {
    sum.seconds += phase.seconds;
    sum.peak_bytes = std::max(sum.peak_bytes, phase.peak_bytes);
  };
  ++steps_;
  images_ += record.images;
  sampler_seconds_ += record.sampler_seconds;
  add_phase(sum_.data, record.phases.data);
  add_phase(sum_.forward, record.phases.forward);
  add_phase(sum_.loss, record.phases.loss);
  add_phase(sum_.backward, record.phases.backward);
  add_phase(sum_.optimizer, record.phases.optimizer);
}

std::string StepTotals::summary() const {
  const double seconds = std::max(sum_.seconds(), 1e-9);
  char text[128];
  std::snprintf(text, sizeof(text), "%lld steps in %.1f s, %.0f images/s (",
                static_cast<long long>(steps_), seconds,
                static_cast<double>(images_) / seconds);
  std::string line = text;
  std::string memory;
  for (const auto& [name, phase] : sum_.all()) {
    const char* comma = memory.empty() ? "" : ", ";
    std::snprintf(text, sizeof(text), "%s%s %.1f%%", comma, name,
                  100 * phase.seconds / seconds);
    line += text;
    std::snprintf(text, sizeof(text), "%s%s %.2f", comma, name,
                  static_cast<double>(phase.peak_bytes) / (1 << 30));
    memory += text;
  }
  std::snprintf(text, sizeof(text), "); memory at most %.2f GB (",
                static_cast<double>(sum_.peak_bytes()) / (1 << 30));
  line += text + memory + ")";
  std::snprintf(text, sizeof(text), "; batches chosen in %.2f s",
                sampler_seconds_);
  return line + text;
}

RunLog::RunLog(const std::string& path, int64_t last_step) : path_(path) {
  if (std::filesystem::exists(path)) {
    write_file_atomically(path,
                          kept_lines(read_file(path, kMaxLogBytes), last_step));
  }
  file_.reset(std::fopen(path.c_str(), "ab"));
  if (!file_) {
    throw RunError(path + ": cannot be written: " + std::strerror(errno));
  }
}

void RunLog::write(const StepRecord& r) {
  Json record = {{"kind", "step"},    {"epoch", r.epoch},
                 {"step", r.step},    {"loss", r.loss},
                 {"lr", r.lr},        {"grad_norm", r.grad_norm},
                 {"images", r.images}};
  for (const auto& [name, value] : r.stats) record[name] = value;
  Json& seconds = record["seconds"];
  Json& peak = record["peak_mb"];
  for (const auto& [name, phase] : r.phases.all()) {
    seconds[name] = rounded(phase.seconds);
    peak[name] = phase.peak_bytes >> 20;
  }
  seconds["total"] = rounded(r.phases.seconds());
  if (r.sampler_seconds > 0) seconds["sampler"] = rounded(r.sampler_seconds);
  write_line(record.dump());
}

void RunLog::write_eval(int64_t epoch, int64_t step,
                        const std::string& metrics_json, double seconds) {
  write_line(Json({{"kind", "eval"},
                   {"epoch", epoch},
                   {"step", step},
                   {"metrics", Json::parse(metrics_json)},
                   {"seconds", rounded(seconds)}})
                 .dump());
}

void RunLog::write_line(const std::string& line) {
  const std::string text = line + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0) {
    throw RunError(path_ + ": cannot be written: " + std::strerror(errno));
  }
}

std::vector<std::pair<int64_t, double>> read_loss_curve(
    const std::string& path) {
  std::vector<std::pair<int64_t, double>> curve;
  std::istringstream lines(read_file(path, kMaxLogBytes));
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    try {
      const Json record = parse_json(line);
      if (record.at("kind") == "step") {
        curve.emplace_back(record.at("step"), record.at("loss"));
      }
    } catch (const Json::exception&) {
      throw DataError(path + ":" + std::to_string(number) +
                      ": not a line of a run's log");
    }
  }
  return curve;
}

}  // namespace kith
