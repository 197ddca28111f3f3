#pragma once

#include <string>
#include <utility>

#include <c10/util/Exception.h>

#include "kith/core/error.h"

namespace kith::ops {

/// Throws c10::ValueError, Python's ValueError, for somebody who gives
/// arguments where others write a configuration.
[[noreturn]] void throw_value_error(const std::string& message);

/// What `call` returns. ConfigError, DataError and c10::ValueError are Python's
/// ValueError, and everything else a RuntimeError.
template <class Call>
auto for_python(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const ConfigError& error) {
    throw_value_error(error.what());
  } catch (const DataError& error) {
    throw_value_error(error.what());
  } catch (const c10::ValueError& error) {
    throw_value_error(error.what_without_backtrace());
  }
}

}  // namespace kith::ops
