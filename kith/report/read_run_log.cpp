// log.jsonl, read a block at a time: the log of a long run has many megabytes.

#include <algorithm>
#include <string_view>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json.h"
#include "kith/report/json_fields.h"
#include "kith/report/run_files.h"

namespace kith {
namespace {

constexpr uint64_t kMaxLogBytes = uint64_t{1} << 30;
constexpr size_t kMaxLineBytes = size_t{4} << 20;
constexpr size_t kBlock = size_t{1} << 20;
constexpr size_t kMaxSteps = 2'000'000;
constexpr size_t kMaxPhases = 32;

class LineReader {
 public:
  explicit LineReader(const std::string& path) : file_(path) {
    if (file_.size() > kMaxLogBytes) {
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
  LoggedEval eval;
  eval.step = count_of(record.at("step"));
  eval.seconds = number_of(field(record, "seconds"));
  const OrderedJson& epoch = field(record, "epoch");
  if (!epoch.is_null()) {
    eval.epoch = count_of(epoch);
  } else if (eval.step > 0 && !log.steps.empty()) {
    eval.epoch = log.steps.back().epoch + 1;  // steps count them from 0
  }
  log.last = eval_numbers_of(record.at("metrics"));
  eval.metrics.insert(log.last.metrics.begin(), log.last.metrics.end());
  log.evals.push_back(std::move(eval));
}

}  // namespace

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
