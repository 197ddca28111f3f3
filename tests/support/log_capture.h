#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/core/log.h"

namespace kith {

/// Collects what the library logs while it lives.
class LogCapture {
 public:
  LogCapture() {
    set_log_sink([this](LogLevel level, const std::string& message) {
      (level == LogLevel::kWarning ? warnings_ : notes_).push_back(message);
    });
  }
  ~LogCapture() { set_log_sink({}); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> warnings_;
  std::vector<std::string> notes_;
};

}  // namespace kith
