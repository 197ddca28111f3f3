#include "kith/core/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/log.h"

namespace kith {
namespace {

// std::strerror is not safe from several threads.
std::string reason(int code) { return std::generic_category().message(code); }

[[noreturn]] void throw_unwritable(const std::string& path, int code) {
  throw RunError(path + ": cannot write: " + reason(code));
}

std::string folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// Not built from the target's name, which may be NAME_MAX long already.
std::string temporary_name(unsigned serial) {
  return ".kith-" + std::to_string(::getpid()) + "-" + std::to_string(serial) +
         ".tmp";
}

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(".kith-") || !name.ends_with(".tmp")) return false;
  name.remove_prefix(6);
  name.remove_suffix(4);
  return !name.empty() && name.find_first_not_of("0123456789-") == name.npos;
}

// Removes a temporary unless a process is at work on it, which holds its lock.
void remove_if_abandoned(const std::string& path) {
  const int file =
      ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  struct stat opened {};
  struct stat named {};
  const bool abandoned =
      ::flock(file, LOCK_EX | LOCK_NB) == 0 && ::fstat(file, &opened) == 0 &&
      ::lstat(path.c_str(), &named) == 0 && S_ISREG(named.st_mode) &&
      opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  if (abandoned && ::unlink(path.c_str()) == 0) {
    log_info("removed " + path + ", which a process that was killed has left");
  }
  ::close(file);
}

// Once for each folder that this process writes to.
void remove_abandoned(const std::string& folder) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator();
       entry.increment(error)) {
    if (is_temporary_name(entry->path().filename().string())) {
      remove_if_abandoned(entry->path().string());
    }
  }
}

// The temporary of one write: closed and removed unless committed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) : target_(target) {
    static std::atomic<unsigned> serial{0};
    constexpr int kAttempts = 1000;  // names left behind by a killed process
    int descriptor = -1;
    for (int i = 0; i < kAttempts && descriptor < 0; ++i) {
      path_ = folder_of(target) + "/" + temporary_name(serial++);
      descriptor =
          ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor < 0 && errno != EEXIST) break;
      if (descriptor >= 0 && !hold(descriptor)) {
        ::close(std::exchange(descriptor, -1));
      }
    }
    if (descriptor < 0) throw_unwritable(target, errno);
    file_ = ::fdopen(descriptor, "wb");
    if (file_ == nullptr) {
      const int code = errno;
      ::close(descriptor);
      ::unlink(path_.c_str());
      throw_unwritable(target, code);
    }
  }

  ~TemporaryFile() {
    if (file_ != nullptr) std::fclose(file_);
    if (!committed_) ::unlink(path_.c_str());
  }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::FILE* file() const { return file_; }

  void commit() {
    if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) {
      throw_unwritable(target_, errno);
    }
    // Before it is closed: without its lock it could be taken for abandoned.
    if (::rename(path_.c_str(), target_.c_str()) != 0) {
      throw_unwritable(target_, errno);
    }
    committed_ = true;
    if (std::fclose(std::exchange(file_, nullptr)) != 0) {
      throw_unwritable(target_, errno);
    }
  }

 private:
  // Locks the new file. False if another process took it for abandoned first
  // and has removed it. Where there are no locks none is removed.
  static bool hold(int descriptor) {
    struct stat info {};
    const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK) return false;
    return ::fstat(descriptor, &info) != 0 || info.st_nlink > 0;
  }

  const std::string& target_;
  std::string path_;
  std::FILE* file_ = nullptr;
  bool committed_ = false;
};

// Makes the rename durable. A folder that cannot be opened or synced by its
// nature (no read permission, a file system without the call) is let pass.
void sync_folder(const std::string& path) {
  const int descriptor =
      ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  const int code = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (code != 0 && code != EINVAL && code != ENOTSUP) {
    throw_unwritable(path, code);
  }
}

// A rename would silently replace a device such as /dev/null.
void refuse_special_target(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    throw RunError(path + ": cannot write: not a regular file");
  }
}

}  // namespace

FileReader::FileReader(const std::string& path) : path_(path) {
  // O_NONBLOCK: opening a pipe must fail below, not wait for a writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    throw DataError(path + ": cannot open: " + reason(errno));
  }
  struct stat info {};
  const bool regular =
      ::fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode);
  if (!regular) {
    ::close(descriptor_);
    throw DataError(path + ": cannot read: not a regular file");
  }
  size_ = static_cast<uint64_t>(info.st_size);
}

FileReader::~FileReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)),
      size_(other.size_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

FileReader& FileReader::operator=(FileReader&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void FileReader::read_at(uint64_t offset, void* out, size_t size) const {
  if (offset > size_ || size > size_ - offset) {
    throw DataError(path_ + ": truncated: " + std::to_string(size) +
                    " bytes wanted at offset " + std::to_string(offset) +
                    ", the file has " + std::to_string(size_));
  }
  auto* cursor = static_cast<char*>(out);
  while (size > 0) {
    constexpr size_t kMaxChunk = size_t{1} << 30;  // Linux stops below 2 GiB
    const ssize_t got = ::pread(descriptor_, cursor, std::min(size, kMaxChunk),
                                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(path_ + ": cannot read: " + reason(errno));
    if (got == 0) throw DataError(path_ + ": became shorter while being read");
    cursor += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
}

std::string read_file(const std::string& path, uint64_t max_bytes) {
  const FileReader file(path);
  if (file.size() > max_bytes) {
    throw DataError(path + ": too large: " + std::to_string(file.size()) +
                    " bytes, at most " + std::to_string(max_bytes) +
                    " are accepted");
  }
  std::string contents(static_cast<size_t>(file.size()), '\0');
  file.read_at(0, contents.data(), contents.size());
  return contents;
}

void FileWriter::write(const void* data, size_t size) {
  if (size > 0 && std::fwrite(data, 1, size, file_) != size) {
    throw_unwritable(path_, errno);
  }
}

void FileWriter::write_over(int64_t offset, const void* data, size_t size) {
  if (::fseeko(file_, offset, SEEK_SET) != 0) throw_unwritable(path_, errno);
  write(data, size);
  if (::fseeko(file_, 0, SEEK_END) != 0) throw_unwritable(path_, errno);
}

void write_file(const std::string& path, std::string_view contents) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw_unwritable(path, errno);
  const size_t written = std::fwrite(contents.data(), 1, contents.size(), file);
  const int write_error = errno;
  if (std::fclose(file) != 0) throw_unwritable(path, errno);
  if (written != contents.size()) throw_unwritable(path, write_error);
}

void write_file_atomically(const std::string& path,
                           const std::function<void(FileWriter&)>& fill) {
  refuse_special_target(path);
  remove_abandoned(folder_of(path));
  TemporaryFile temporary(path);
  FileWriter writer(temporary.file(), path);
  fill(writer);
  temporary.commit();
  sync_folder(path);
}

void write_file_atomically(const std::string& path, std::string_view contents) {
  write_file_atomically(path,
                        [&](FileWriter& writer) { writer.write(contents); });
}

}  // namespace kith
