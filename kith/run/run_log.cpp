#include "kith/run/run_log.h"

#include <algorithm>
#include <string_view>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/core/path.h"
#include "kith/run/detail/stored_json.h"

namespace kith {
namespace {

constexpr uint64_t kMaxLogBytes = uint64_t{4} << 30;

/// Microseconds are enough, and keep lines short.
double rounded(double seconds) {
  return static_cast<double>(static_cast<int64_t>(seconds * 1e6 + 0.5)) / 1e6;
}

/// The last steps that records of each kind are kept of.
struct LastKept {
  int64_t step;
  int64_t eval;
  int64_t test;
};

/// Whether a line is a record of a step that is kept.
bool is_kept(std::string_view line, const LastKept& last) {
  try {
    const OrderedJson record = parse_json(line);
    if (!record.is_object()) return false;
    const OrderedJson& kind = field(record, "kind");
    int64_t most = last.step;
    if (kind == "eval") most = std::min(most, last.eval);
    if (kind == "test") most = std::min(most, last.test);
    return record.value("step", int64_t{0}) <= most;
  } catch (const OrderedJson::exception&) {
    return false;
  }
}

/// The complete lines that come before the first that is not kept.
std::string kept_lines(const std::string& text, const LastKept& last) {
  std::string kept;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) return kept;
    const auto line = std::string_view(text).substr(begin, end - begin + 1);
    if (!is_kept(line, last)) return kept;
    kept += line;
    begin = end + 1;
  }
}

constexpr uint64_t kMaxReadBytes = uint64_t{1} << 30;
constexpr size_t kMaxLineBytes = size_t{4} << 20;
constexpr size_t kBlock = size_t{1} << 20;
constexpr size_t kMaxSteps = 2'000'000;
constexpr size_t kMaxPhases = 32;

/// Reads a block at a time: the log of a long run has many megabytes.
class LineReader {
 public:
  explicit LineReader(const std::string& path) : file_(path) {
    if (file_.size() > kMaxReadBytes) {
      throw DataError(path + ": larger than 1 GiB; set a larger 'log.every'");
    }
  }

  /// The next line without its end; false after the last one.
  bool next(std::string_view& line) {
    size_t end = buffer_.find('\n', begin_);
    while (end == std::string::npos && offset_ < file_.size()) {
      read_block();
      end = buffer_.find('\n', begin_);
    }
    complete_ = end != std::string::npos;
    end = std::min(end, buffer_.size());
    line = std::string_view(buffer_).substr(begin_, end - begin_);
    begin_ = complete_ ? end + 1 : end;
    ++number_;
    return complete_ || !line.empty();
  }

  /// Whether the line ended; the last one of a killed run may not.
  bool complete() const { return complete_; }

  [[noreturn]] void fail(const std::string& reason) const {
    throw DataError(file_.path() + ":" + std::to_string(number_) + ": " +
                    reason);
  }

 private:
  void read_block() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    if (buffer_.size() > kMaxLineBytes) {
      ++number_;
      fail("a line of more than 4 MiB is not of a run's log");
    }
    const size_t had = buffer_.size();
    const auto size =
        static_cast<size_t>(std::min<uint64_t>(kBlock, file_.size() - offset_));
    buffer_.resize(had + size);
    file_.read_at(offset_, buffer_.data() + had, size);
    offset_ += size;
  }

  FileReader file_;
  uint64_t offset_ = 0;
  std::string buffer_;
  size_t begin_ = 0;
  int64_t number_ = 0;
  bool complete_ = true;
};

/// The sum of a step and the choice of an epoch's batches are no phases.
std::vector<std::string> phases_of(const OrderedJson& seconds) {
  std::vector<std::string> phases;
  if (!seconds.is_object()) return phases;
  for (const auto& [name, value] : seconds.items()) {
    if (name == "total" || name == "sampler") continue;
    if (phases.size() < kMaxPhases) phases.push_back(name);
  }
  return phases;
}

void add_step(const OrderedJson& record, RunLogFile& log) {
  LoggedStep step;
  step.epoch = count_of(field(record, "epoch"));
  step.step = count_of(record.at("step"));
  step.loss = number_of(field(record, "loss"));
  step.lr = number_of(field(record, "lr"));
  step.grad_norm = number_of(field(record, "grad_norm"));
  step.images = count_of(field(record, "images"));
  const OrderedJson& seconds = field(record, "seconds");
  const OrderedJson& peaks = field(record, "peak_mb");
  if (log.phases.empty()) log.phases = phases_of(seconds);
  step.seconds.reserve(log.phases.size());
  step.peak_mb.reserve(log.phases.size());
  for (const std::string& phase : log.phases) {
    step.seconds.push_back(number_of(field(seconds, phase.c_str())));
    step.peak_mb.push_back(count_of(field(peaks, phase.c_str())));
  }
  log.steps.push_back(std::move(step));
}

void add_eval(const OrderedJson& record, RunLogFile& log) {
  RunPoint point;
  point.step = count_of(record.at("step"));
  const OrderedJson& epoch = field(record, "epoch");
  if (!epoch.is_null()) {
    point.epoch = count_of(epoch);
  } else if (point.step > 0 && !log.steps.empty()) {
    point.epoch = log.steps.back().epoch + 1;  // steps count them from 0
  }
  point.found = eval_of(record.at("metrics"));
  log.evals.push_back(logged(point, number_of(field(record, "seconds"))));
  log.last = std::move(point.found);
  log.split = text_of(field(record, "split"));
}

void add_test(const OrderedJson& record, RunLogFile& log) {
  log.test = TestPoint{
      count_of(record.at("epoch")), count_of(field(record, "of_step")),
      count_of(record.at("step")), eval_of(record.at("metrics"))};
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

RunLog::RunLog(const std::string& path, int64_t last_step, int64_t last_eval,
               int64_t last_test) {
  if (path_exists(path)) {
    write_file_atomically(path, kept_lines(read_file(path, kMaxLogBytes),
                                           {last_step, last_eval, last_test}));
  }
  file_.emplace(path, GrowingFile::Start::kAtEnd);
}

void RunLog::write(const StepRecord& r) {
  OrderedJson record = {{"kind", "step"},    {"epoch", r.epoch},
                        {"step", r.step},    {"loss", r.loss},
                        {"lr", r.lr},        {"grad_norm", r.grad_norm},
                        {"images", r.images}};
  for (const auto& [name, value] : r.stats) record[name] = value;
  // Not references into the record, which a further entry may move.
  OrderedJson seconds;
  OrderedJson peak;
  for (const auto& [name, phase] : r.phases.all()) {
    seconds[name] = rounded(phase.seconds);
    peak[name] = phase.peak_bytes >> 20;
  }
  seconds["total"] = rounded(r.phases.seconds());
  if (r.sampler_seconds > 0) seconds["sampler"] = rounded(r.sampler_seconds);
  record["seconds"] = std::move(seconds);
  record["peak_mb"] = std::move(peak);
  write_line(record.dump());
}

void RunLog::write(const RunPoint& point, const std::string& split,
                   double seconds) {
  write_line(OrderedJson({{"kind", "eval"},
                          {"epoch", point.epoch},
                          {"step", point.step},
                          {"split", split},
                          {"metrics", json_of(point.found)},
                          {"seconds", rounded(seconds)}})
                 .dump());
}

void RunLog::write(const TestPoint& test, double seconds) {
  write_line(OrderedJson({{"kind", "test"},
                          {"checkpoint", "best"},
                          {"epoch", test.epoch},
                          {"step", test.after},
                          {"of_step", test.step},
                          {"split", "test"},
                          {"metrics", json_of(test.found)},
                          {"seconds", rounded(seconds)}})
                 .dump());
}

void RunLog::write_line(const std::string& line) { file_->append(line + "\n"); }

LoggedEval logged(const RunPoint& point, double seconds) {
  LoggedEval eval;
  eval.epoch = point.epoch;
  eval.step = point.step;
  eval.seconds = seconds;
  for (const StoredMetric& metric : point.found.metrics) {
    if (!metric.is_list()) eval.metrics[metric.name] = metric.value;
  }
  return eval;
}

RunLogFile read_run_log(const std::string& path) {
  RunLogFile log;
  LineReader lines(path);
  std::string_view line;
  while (lines.next(line)) {
    try {
      const OrderedJson record = parse_json(line);
      const std::string kind = record.at("kind");
      if (kind == "step") add_step(record, log);
      if (kind == "eval") add_eval(record, log);
      if (kind == "test") add_test(record, log);
    } catch (const OrderedJson::parse_error&) {
      if (!lines.complete()) break;
      lines.fail("not a line of a run's log, as kith train writes it");
    } catch (const OrderedJson::exception&) {
      lines.fail("not a line of a run's log, as kith train writes it");
    }
    if (log.steps.size() > kMaxSteps) {
      lines.fail("more than " + std::to_string(kMaxSteps) +
                 " steps; set a larger 'log.every'");
    }
  }
  return log;
}

}  // namespace kith
