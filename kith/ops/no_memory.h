#pragma once

#include <string>

#include <c10/util/Exception.h>

namespace kith {

/// Whether an error of LibTorch says that the machine has no memory. It has a
/// type of its own for that of a GPU alone.
inline bool is_no_memory(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.find("can't allocate memory") != std::string::npos;
}

}  // namespace kith
