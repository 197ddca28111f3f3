#include "kith/core/growing_file.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "kith/core/system_calls.h"

namespace kith {

GrowingFile::GrowingFile(const std::string& path, Start start)
    : path_(path),
      descriptor_(open_file(
          path,
          O_WRONLY | O_CREAT | (start == Start::kEmpty ? O_TRUNC : O_APPEND))) {
  if (descriptor_ < 0) throw_unwritable(path, errno);
}

GrowingFile::~GrowingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

GrowingFile::GrowingFile(GrowingFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

GrowingFile& GrowingFile::operator=(GrowingFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void GrowingFile::append(std::string_view data) {
  write_all(descriptor_, data.data(), data.size(), path_);
}

}  // namespace kith
