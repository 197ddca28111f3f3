#include "kith/core/whole_folder.h"

#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/core/system_calls.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// Whether a call failed because of where the folder is, not of the disk.
bool is_impossible(int code) {
  return code == EACCES || code == EPERM || code == EROFS || code == EBUSY ||
         code == EXDEV || code == EINVAL || code == ENOSYS ||
         code == EOPNOTSUPP;
}

/// A signal may interrupt it where a file system waits for others.
std::error_code remove_folder(const fs::path& path) {
  std::error_code error;
  do {
    error.clear();
    fs::remove_all(path, error);
  } while (error == std::errc::interrupted);
  return error;
}

/// What a folder is renamed as, without links and dots; empty if it cannot be.
fs::path place_of(const std::string& folder) {
  const fs::path full = full_path(folder).lexically_normal();
  std::error_code error;
  const fs::path real = path_exists(full)
                            ? fs::canonical(full, error)
                            : (full.has_filename() ? full : full.parent_path());
  // The present folder would be another one then, and this one removed.
  if (error || !real.has_filename() || real == present_folder()) return {};
  return real;
}

/// A folder beside another, which it is to replace, while it is filled. The
/// lock tells those at work from those that killed processes left.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& target)
      : target_(target),
        path_(target.parent_path() /
              ("." + target.filename().string() + ".new")) {
    make_folders(target.parent_path());
    remove_abandoned();
    const int made =
        uninterrupted([&] { return ::mkdir(path_.c_str(), 0777); });
    if (made != 0) {
      if (is_impossible(errno)) return;
      throw_unwritable(path_.string(), errno);
    }
    lock_ = open_file(path_.string(), O_RDONLY | O_DIRECTORY);
    if (lock_ < 0) {
      const int code = errno;
      remove_folder(path_);
      throw_unwritable(path_.string(), code);
    }
    ::flock(lock_, LOCK_EX | LOCK_NB);
  }

  ~NewFolder() {
    if (lock_ < 0) return;
    ::close(lock_);
    if (!is_put_) remove_folder(path_);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  bool is_there() const { return lock_ >= 0; }
  std::string path() const { return path_.string(); }

  /// Puts it in its place; false if the file system cannot.
  bool put() {
    const bool replaces = path_exists(target_);
    if (replaces) copy_mode();
    const int done = uninterrupted([&] {
      return replaces ? ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD,
                                    target_.c_str(), RENAME_EXCHANGE)
                      : ::rename(path_.c_str(), target_.c_str());
    });
    if (done != 0 && is_impossible(errno)) return false;
    if (done != 0) throw_unwritable(target_.string(), errno);
    is_put_ = true;
    sync_parent();
    if (!replaces) return true;
    if (const std::error_code error = remove_folder(path_)) {
      log_warning(path_.string() + ", which " + target_.string() +
                  " has replaced, cannot be removed: " + error.message());
    }
    return true;
  }

 private:
  /// A process at work keeps its lock.
  void remove_abandoned() {
    const int file =
        open_file(path_.string(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (file < 0) return;
    const bool is_free = ::flock(file, LOCK_EX | LOCK_NB) == 0;
    ::close(file);
    if (!is_free) {
      throw RunError(target_.string() +
                     ": another process writes it just now (" + path_.string() +
                     "): wait until it has ended");
    }
    if (const std::error_code error = remove_folder(path_)) {
      throw RunError(path_.string() +
                     ", which a process that was killed has left, cannot be "
                     "removed: " +
                     error.message());
    }
    log_info("removed " + path_.string() +
             ", which a process that was killed has left");
  }

  void copy_mode() const {
    struct stat old {};
    if (::stat(target_.c_str(), &old) != 0) return;
    ::chmod(path_.c_str(), old.st_mode & 07777);
  }

  /// Makes the change durable, where folders can be synced.
  void sync_parent() const {
    const std::string parent = target_.parent_path().string();
    const int folder = open_file(parent, O_RDONLY | O_DIRECTORY);
    if (folder < 0) return;
    const bool is_synced = uninterrupted([&] { return ::fsync(folder); }) == 0;
    const int code = is_synced ? 0 : errno;
    ::close(folder);
    if (code == 0 || is_impossible(code)) return;
    throw_unwritable(target_.string(), code);
  }

  fs::path target_;
  fs::path path_;
  int lock_ = -1;
  bool is_put_ = false;
};

}  // namespace

void write_whole_folder(const std::string& folder,
                        const std::function<void(const std::string&)>& fill) {
  const fs::path target = place_of(folder);
  if (target.empty()) return fill(folder);
  {
    NewFolder made(target);
    if (made.is_there()) {
      fill(made.path());
      if (made.put()) return;
    }
  }
  log_info(folder + " cannot be replaced in one step: writing into it");
  fill(folder);
}

}  // namespace kith
