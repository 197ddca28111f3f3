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
#include "kith/core/system_calls.h"

namespace kith {
namespace {

std::string folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// Not built from the target's name, which may be NAME_MAX long already.
std::string temporary_name(unsigned serial) {
  return ".kith-" + std::to_string(::getpid()) + "-" + std::to_string(serial) +
         ".tmp";
}

// Removes a temporary unless a process is at work on it, which holds its lock.
void remove_if_abandoned(const std::string& path) {
  const int file = open_file(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
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
    if (is_temporary_file(entry->path().filename().string())) {
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
    for (int i = 0; i < kAttempts && descriptor_ < 0; ++i) {
      path_ = folder_of(target) + "/" + temporary_name(serial++);
      descriptor_ = open_file(path_, O_WRONLY | O_CREAT | O_EXCL);
      if (descriptor_ < 0 && errno != EEXIST) break;
      if (descriptor_ >= 0 && !hold(descriptor_)) {
        ::close(std::exchange(descriptor_, -1));
      }
    }
    if (descriptor_ < 0) throw_unwritable(target, errno);
  }

  // What close() says does not matter: a file that counts is synced.
  ~TemporaryFile() {
    ::close(descriptor_);
    if (!committed_) ::unlink(path_.c_str());
  }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return descriptor_; }

  void commit() {
    if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) {
      throw_unwritable(target_, errno);
    }
    // Before it is closed: without its lock it could be taken for abandoned.
    if (::rename(path_.c_str(), target_.c_str()) != 0) {
      throw_unwritable(target_, errno);
    }
    committed_ = true;
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
  int descriptor_ = -1;
  bool committed_ = false;
};

// Makes the rename durable. A folder that cannot be opened or synced by its
// nature (no read permission, a file system without the call) is let pass.
void sync_folder(const std::string& path) {
  const int descriptor = open_file(folder_of(path), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  const bool synced = uninterrupted([&] { return ::fsync(descriptor); }) == 0;
  const int code = synced ? 0 : errno;
  ::close(descriptor);
  if (code != 0 && code != EINVAL && code != ENOTSUP) {
    throw_unwritable(path, code);
  }
}

// Lets the disk begin, so that less is left for the sync at the end: whoever
// writes much may compute the rest meanwhile. It is no more than a wish.
void begin_sync([[maybe_unused]] int descriptor) {
#ifdef SYNC_FILE_RANGE_WRITE
  ::sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
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
  descriptor_ = open_file(path, O_RDONLY | O_NONBLOCK);
  if (descriptor_ < 0) {
    const int code = errno;
    const std::string text = path + ": cannot open: " + error_text(code);
    if (code == ENOENT || code == ENOTDIR) throw DataError(text);
    throw ReadError(text);
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
    const ssize_t got = uninterrupted([&] {
      return ::pread(descriptor_, cursor, std::min(size, kMaxChunk),
                     static_cast<off_t>(offset));
    });
    if (got < 0) throw ReadError(path_ + ": cannot read: " + error_text(errno));
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
  constexpr size_t kBufferBytes = size_t{1} << 16;
  constexpr size_t kManyBytes = size_t{1} << 20;
  if (size > kBufferBytes) {
    flush();
    write_all(descriptor_, data, size, path_);
    if (size >= kManyBytes) begin_sync(descriptor_);
    return;
  }
  buffer_.append(static_cast<const char*>(data), size);
  if (buffer_.size() >= kBufferBytes) flush();
}

void FileWriter::write_over(int64_t offset, const void* data, size_t size) {
  flush();
  if (::lseek(descriptor_, offset, SEEK_SET) < 0) {
    throw_unwritable(path_, errno);
  }
  write_all(descriptor_, data, size, path_);
  if (::lseek(descriptor_, 0, SEEK_END) < 0) throw_unwritable(path_, errno);
}

void FileWriter::flush() {
  write_all(descriptor_, buffer_.data(), buffer_.size(), path_);
  buffer_.clear();
}

void write_file(const std::string& path, std::string_view contents) {
  int descriptor = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (descriptor < 0) throw_unwritable(path, errno);
  try {
    write_all(descriptor, contents.data(), contents.size(), path);
    // The kernel has closed it, whatever it says; but an interruption says
    // nothing of the data.
    if (::close(std::exchange(descriptor, -1)) != 0 && errno != EINTR) {
      throw_unwritable(path, errno);
    }
  } catch (const RunError&) {
    if (descriptor >= 0) ::close(descriptor);
    ::unlink(path.c_str());
    throw;
  }
}

void write_file_atomically(const std::string& path,
                           const std::function<void(FileWriter&)>& fill) {
  refuse_special_target(path);
  remove_abandoned(folder_of(path));
  TemporaryFile temporary(path);
  FileWriter writer(temporary.descriptor(), path);
  fill(writer);
  writer.flush();
  temporary.commit();
  sync_folder(path);
}

void write_file_atomically(const std::string& path, std::string_view contents) {
  write_file_atomically(path,
                        [&](FileWriter& writer) { writer.write(contents); });
}

bool is_temporary_file(std::string_view name) {
  if (!name.starts_with(".kith-") || !name.ends_with(".tmp")) return false;
  name.remove_prefix(6);
  name.remove_suffix(4);
  return !name.empty() && name.find_first_not_of("0123456789-") == name.npos;
}

}  // namespace kith
