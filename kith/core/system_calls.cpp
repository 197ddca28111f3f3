#include "kith/core/system_calls.h"

#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "kith/core/error.h"

namespace kith {

std::string error_text(int code) {
  return std::generic_category().message(code);
}

void throw_unwritable(const std::string& path, int code) {
  throw RunError(path + ": cannot write: " + error_text(code));
}

int open_file(const std::string& path, int flags) {
  constexpr mode_t kMode = 0666;
  return uninterrupted(
      [&] { return ::open(path.c_str(), flags | O_CLOEXEC, kMode); });
}

std::filesystem::directory_iterator open_folder(
    const std::filesystem::path& folder, std::error_code& error) {
  std::filesystem::directory_iterator first(folder, error);
  while (error == std::errc::interrupted) {
    first = std::filesystem::directory_iterator(folder, error);
  }
  return first;
}

void write_all(int descriptor, const void* data, size_t size,
               const std::string& path) {
  const auto* cursor = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written =
        uninterrupted([&] { return ::write(descriptor, cursor, size); });
    if (written < 0) throw_unwritable(path, errno);
    cursor += written;
    size -= static_cast<size_t>(written);
  }
}

}  // namespace kith
