#pragma once

#include <string>

namespace kith {

/// A file that stands for the right to change something, which one process at
/// a time can have. The file stays: removing it would let two have the right.
class FileLock {
 public:
  /// Makes the file if need be. RunError if it cannot be written.
  explicit FileLock(const std::string& path);
  /// Gives the right back, unless a child process has inherited it. So does the
  /// end of the process, however it ends.
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Takes the right, if no other process has it. On a file system without
  /// locks it is taken with a warning.
  bool try_lock();

  /// Who took it last: " (process 1234)", with the machine if it is another
  /// one; empty if that is not known.
  std::string holder() const;

 private:
  std::string path_;
  int file_ = -1;
};

/// The right to change a folder, held until the object and all child processes
/// that were started meanwhile have ended.
class FolderLock {
 public:
  /// Makes the folder. RunError if another process has the right and keeps it
  /// for `patience` seconds: children of one that was killed need some to end.
  /// `who` is what is at work there, such as "kith train".
  FolderLock(const std::string& folder, const std::string& who,
             double patience = 2);

 private:
  FileLock lock_;
};

}  // namespace kith
