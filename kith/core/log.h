#pragma once

#include <functional>
#include <string>

namespace kith {

enum class LogLevel { kInfo, kWarning };

using LogSink = std::function<void(LogLevel, const std::string&)>;

/// The library never prints: it hands what a user should know to the sink the
/// program installed. Without one, messages are dropped. Thread-safe.
void set_log_sink(LogSink sink);

void log_info(const std::string& message);
void log_warning(const std::string& message);

}  // namespace kith
