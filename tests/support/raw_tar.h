#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace kith {

/// A file of a tar archive that is written byte by byte.
struct RawTarFile {
  std::string name;
  std::string contents = {};
  char type = '0';
  std::string size = {};    ///< As the header claims it; empty: as it is.
  std::string prefix = {};  ///< Of the name, in POSIX headers.
};

inline std::string raw_tar_header(const RawTarFile& file) {
  std::string header(512, '\0');
  const auto put = [&](size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  const auto octal = [](uint64_t value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llo", digits,
                  static_cast<unsigned long long>(value));
    return std::string(text);
  };
  put(0, file.name.substr(0, 100));
  put(100, "0000644");
  put(124, file.size.empty() ? octal(file.contents.size(), 11) : file.size);
  put(148, "        ");
  header[156] = file.type;
  put(257, std::string("ustar\0"
                       "00",
                       8));
  put(345, file.prefix);
  uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string("\0 ", 2));
  return header;
}

/// A whole archive, with the two empty blocks that end it.
inline std::string raw_tar(const std::vector<RawTarFile>& files) {
  std::string bytes;
  for (const RawTarFile& file : files) {
    bytes += raw_tar_header(file) + file.contents;
    bytes.resize((bytes.size() + 511) / 512 * 512, '\0');
  }
  return bytes + std::string(1024, '\0');
}

/// "LENGTH KEY=VALUE\n" of an extended header.
inline std::string pax_record(const std::string& key,
                              const std::string& value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (rest + std::to_string(length).size() != length) ++length;
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

}  // namespace kith
