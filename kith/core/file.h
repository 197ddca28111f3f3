#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace kith {

/// A regular file open for reading at any offset. Never reads past the size
/// seen when it was opened. Reading is const and safe from several threads.
class FileReader {
 public:
  /// DataError if the file is missing, unreadable or not a regular file.
  explicit FileReader(const std::string& path);
  ~FileReader();
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }

  /// Fills out[0, size); DataError if the file does not hold these bytes.
  void read_at(uint64_t offset, void* out, size_t size) const;

 private:
  std::string path_;
  uint64_t size_ = 0;
  int descriptor_ = -1;
};

/// The whole file as bytes. DataError as FileReader, or if it is longer than
/// max_bytes (checked before anything is allocated).
std::string read_file(const std::string& path, uint64_t max_bytes);

/// Buffered sink handed to the callback of write_file_atomically.
class FileWriter {
 public:
  FileWriter(std::FILE* file, const std::string& path)
      : file_(file), path_(path) {}

  /// RunError with the path and the reason, e.g. no space left on device.
  void write(const void* data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// Writes over bytes that were written before, such as a count in a header
  /// that is known only at the end; the next write() goes to the end again.
  void write_over(int64_t offset, const void* data, size_t size);

 private:
  std::FILE* file_;
  const std::string& path_;
};

/// Writes a file without the care of write_file_atomically: for many small
/// files that can be made again, such as the images of a generated data set.
/// RunError with the path and the reason.
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

}  // namespace kith
