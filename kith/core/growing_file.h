#pragma once

#include <string>
#include <string_view>

namespace kith {

/// A file that grows, such as a log. What append() has returned from is in the
/// file, even if the process is killed.
class GrowingFile {
 public:
  enum class Start { kEmpty, kAtEnd };

  /// RunError with the path and the reason.
  GrowingFile(const std::string& path, Start start);
  ~GrowingFile();
  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&& other) noexcept;
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// RunError with the path and the reason; a part may be in the file then.
  void append(std::string_view data);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace kith
