#include "kith/core/log.h"

#include <mutex>

namespace kith {
namespace {

std::mutex sink_mutex;

LogSink& sink() {
  static LogSink instance;
  return instance;
}

void send(LogLevel level, const std::string& message) {
  const std::lock_guard lock(sink_mutex);
  if (sink()) sink()(level, message);
}

}  // namespace

void set_log_sink(LogSink new_sink) {
  const std::lock_guard lock(sink_mutex);
  sink() = std::move(new_sink);
}

void log_info(const std::string& message) { send(LogLevel::kInfo, message); }

void log_warning(const std::string& message) {
  send(LogLevel::kWarning, message);
}

}  // namespace kith
