#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/file.h"

namespace kith {

/// A regular file in a tar archive.
struct TarEntry {
  std::string name;
  uint64_t offset = 0;  ///< Of its contents in the archive.
  uint64_t size = 0;
  uint32_t sum = 0;  ///< That its header has of itself.
};

/// The regular files of a tar archive that is not compressed, in its order: the
/// headers are read, one after the other, and the contents are not. Names and
/// sizes may be those of POSIX (ustar, pax) or GNU. Folders, links and devices
/// are left out.
///
/// DataError naming the archive, and the place where there is one: if it is
/// compressed or no archive, if a header is damaged, or if it ends before the
/// contents of its last file.
std::vector<TarEntry> read_tar(const FileReader& archive);

/// The contents of a file that read_tar() found. DataError if it is not there
/// any more, since the archive was written again, or longer than max_bytes.
std::string read_tar_entry(const FileReader& archive, const TarEntry& entry,
                           uint64_t max_bytes);

}  // namespace kith
