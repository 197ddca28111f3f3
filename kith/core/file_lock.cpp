#include "kith/core/file_lock.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/system_calls.h"
#include "kith/core/timer.h"

namespace kith {
namespace {

std::string machine() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string made_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw RunError(folder + ": cannot make the folder: " + error.message());
  }
  return folder;
}

}  // namespace

FileLock::FileLock(const std::string& path)
    : path_(path), file_(uninterrupted([&] {
        // Children that are started meanwhile inherit it.
        return ::open(path.c_str(), O_RDWR | O_CREAT, 0644);
      })) {
  if (file_ < 0) {
    throw RunError(path + ": cannot be written: " + std::strerror(errno));
  }
}

FileLock::~FileLock() { ::close(file_); }

bool FileLock::try_lock() {
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return false;
    log_warning(path_ + ": cannot be locked (" + std::strerror(errno) +
                "); see to it that no other kith writes here");
    return true;
  }
  // For the message of whoever comes next; that it fails does no harm.
  const std::string text = std::to_string(::getpid()) + " " + machine();
  const bool written = ::ftruncate(file_, 0) == 0 &&
                       ::pwrite(file_, text.data(), text.size(), 0) > 0;
  static_cast<void>(written);
  return true;
}

std::string FileLock::holder() const {
  char text[512] = {};
  const ssize_t size = ::pread(file_, text, sizeof text - 1, 0);
  const std::string note(text, static_cast<size_t>(size > 0 ? size : 0));
  const size_t space = note.find(' ');
  const std::string id = note.substr(0, space);
  if (id.empty() || space == std::string::npos ||
      id.find_first_not_of("0123456789") != std::string::npos) {
    return "";
  }
  const std::string where = note.substr(space + 1);
  return " (process " + id +
         (where == machine() ? "" : " on the machine '" + where + "'") + ")";
}

FolderLock::FolderLock(const std::string& folder, const std::string& who,
                       double patience)
    : lock_(made_folder(folder) + "/.lock") {
  const Timer timer;
  // Children inherit it: what a killed program left running still holds it.
  while (!lock_.try_lock()) {
    if (timer.seconds() > patience) {
      throw RunError(folder + ": another " + who + lock_.holder() +
                     " is at work in this folder; wait for it or choose "
                     "another folder");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace kith
