#include "kith/core/file_lock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "kith/core/error.h"

namespace kith {

FileLock::FileLock(const std::string& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT, 0644)) {
  if (file_ < 0) {
    throw RunError(path + ": cannot be written: " + std::strerror(errno));
  }
}

FileLock::~FileLock() { ::close(file_); }

bool FileLock::try_lock() { return ::flock(file_, LOCK_EX | LOCK_NB) == 0; }

}  // namespace kith
