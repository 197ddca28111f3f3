#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace kith {

/// A regular file open for reading at any offset. Never reads past the size
/// seen when it was opened. Reading is const and safe from several threads.
class FileReader {
 public:
  /// DataError if the file is missing or not a regular file, ReadError if it is
  /// there but cannot be opened.
  explicit FileReader(const std::string& path);
  ~FileReader();
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }

  /// Fills out[0, size); DataError if the file does not hold these bytes,
  /// ReadError if they cannot be read.
  void read_at(uint64_t offset, void* out, size_t size) const;

 private:
  std::string path_;
  uint64_t size_ = 0;
  int descriptor_ = -1;
};

/// The whole file as bytes. DataError as FileReader, or if it is longer than
/// max_bytes (checked before anything is allocated).
std::string read_file(const std::string& path, uint64_t max_bytes);

/// Buffered sink handed to the callback of write_file_atomically. A call of the
/// system that a signal interrupts is made again, here as everywhere below.
class FileWriter {
 public:
  FileWriter(int descriptor, const std::string& path)
      : descriptor_(descriptor), path_(path) {}

  /// RunError with the path and the reason, e.g. no space left on device.
  void write(const void* data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// Writes over bytes that were written before, such as a count in a header
  /// that is known only at the end; the next write() goes to the end again.
  void write_over(int64_t offset, const void* data, size_t size);

  /// Hands the system what is still in the buffer.
  void flush();

 private:
  int descriptor_;
  const std::string& path_;
  std::string buffer_;
};

/// Writes a file without the care of write_file_atomically: for many small
/// files that can be made again, such as the images of a generated data set.
/// RunError with the path and the reason; then there is no file.
void write_file(const std::string& path, std::string_view contents);

/// Replaces `path` as a whole or not at all, even across a power cut: `fill`
/// writes a temporary file in the same folder, which is synced and renamed.
/// On failure (RunError, or whatever `fill` throws) the temporary is removed
/// and what was at `path` is untouched. A symbolic link at `path` is replaced,
/// not followed; a folder or device at `path` is refused.
void write_file_atomically(const std::string& path,
                           const std::function<void(FileWriter&)>& fill);

/// The same for contents already in memory.
void write_file_atomically(const std::string& path, std::string_view contents);

/// Whether a file is such a temporary, perhaps left by a process that was
/// killed.
bool is_temporary_file(std::string_view name);

}  // namespace kith
