#pragma once

#include <stdexcept>
#include <string>

namespace kith {

/// Wrong usage or a wrong configuration. The message names the file and line
/// (or the flag), the key, what was expected and the nearest valid name.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file or data set that cannot be used. The message names the file and,
/// where there is one, the line.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file that is there but cannot be read, for the disk or the network fails.
/// Who looks whether a file is of some kind must not take it for another.
class ReadError : public DataError {
 public:
  using DataError::DataError;
};

/// A run that cannot go on (a NaN in the loss, no space left on the disk).
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void assertion_failed(const char* condition, const char* file,
                                   int line);

}  // namespace kith

/// A bug in kith, never a user's mistake: throws std::logic_error.
#define KITH_ASSERT(condition) \
  ((condition) ? void()        \
               : ::kith::assertion_failed(#condition, __FILE__, __LINE__))
