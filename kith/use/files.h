#pragma once

#include <string>
#include <vector>

namespace kith {

/// "/home/you/x" for "x", as an index keeps paths.
std::string absolute_path(const std::string& path);

/// Whether there is a file or folder; false for what cannot be a path.
bool is_there(const std::string& path);

/// "dir/.x.lock" for "dir/x" and ".lock".
std::string hidden_beside(const std::string& path, const std::string& end);

/// Makes the folder that a file will be in. RunError if it cannot be made.
void make_folder_of(const std::string& file);

/// The lines of a text file without their ends; a last empty one is none.
std::vector<std::string> read_lines(const std::string& path);

/// The path of a file of its own beside another, for what is needed for a
/// while. The file is removed, if it was made, at the end of its scope, and
/// those that killed processes left at its beginning.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& beside);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace kith
