#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

namespace kith {

/// Makes a call of the system again as long as a signal interrupts it, which
/// happens on file systems that wait for others, such as those in a network.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// std::strerror is not safe from several threads.
std::string error_text(int code);

/// RunError "path: cannot write: No space left on device".
[[noreturn]] void throw_unwritable(const std::string& path, int code);

/// open(2), closed in programs that this one starts; below 0, with errno, if it
/// fails.
int open_file(const std::string& path, int flags);

/// The first entry of a folder; the end, with the error, if it cannot be read.
std::filesystem::directory_iterator open_folder(
    const std::filesystem::path& folder, std::error_code& error);

/// Writes everything, or RunError with the path.
void write_all(int descriptor, const void* data, size_t size,
               const std::string& path);

}  // namespace kith
