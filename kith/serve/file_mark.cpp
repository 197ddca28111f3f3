#include "kith/serve/file_mark.h"

#include <sys/stat.h>

namespace kith {

FileMark file_mark(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  constexpr int64_t kBillion = 1'000'000'000;
  return {info.st_dev, info.st_ino, info.st_size,
          info.st_mtim.tv_sec * kBillion + info.st_mtim.tv_nsec};
}

}  // namespace kith
