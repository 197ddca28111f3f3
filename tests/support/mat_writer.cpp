#include "tests/support/mat_writer.h"

#include "tests/support/raw_images.h"

namespace kith {
namespace {

void put(std::string& bytes, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 255);
  }
}

constexpr int32_t kFieldWidth = 32;

}  // namespace

std::string mat_element(uint32_t type, const std::string& data, bool small) {
  std::string bytes;
  const auto size = static_cast<uint32_t>(data.size());
  if (small && size > 0 && size <= 4) {
    put(bytes, type | size << 16, 4);
    bytes += data;
  } else {
    put(bytes, type, 4);
    put(bytes, size, 4);
    bytes += data;
  }
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  return bytes;
}

std::string mat_array(uint32_t array_class, const std::vector<int32_t>& shape,
                      const std::string& name, const std::string& contents) {
  std::string flags;
  put(flags, array_class, 8);
  std::string sizes;
  for (const int32_t size : shape) put(sizes, static_cast<uint32_t>(size), 4);
  return mat_element(14, mat_element(6, flags) + mat_element(5, sizes) +
                             mat_element(1, name) + contents);
}

std::string mat_number(uint16_t value, const std::string& name) {
  std::string bytes;
  put(bytes, value, 2);
  return mat_array(6, {1, 1}, name, mat_element(4, bytes));
}

std::string mat_text(const std::string& text, const std::string& name) {
  std::string bytes;
  for (const char c : text) put(bytes, static_cast<unsigned char>(c), 2);
  return mat_array(4, {1, static_cast<int32_t>(text.size())}, name,
                   mat_element(4, bytes));
}

std::string mat_cells(const std::vector<std::string>& values,
                      const std::string& name) {
  std::string contents;
  for (const std::string& value : values) contents += value;
  return mat_array(1, {1, static_cast<int32_t>(values.size())}, name, contents);
}

std::string mat_structs(const std::vector<std::string>& fields,
                        const std::vector<std::string>& values,
                        const std::string& name) {
  std::string width;
  put(width, kFieldWidth, 4);
  std::string names;
  for (std::string field : fields) {
    field.resize(kFieldWidth, '\0');
    names += field;
  }
  std::string contents = mat_element(5, width) + mat_element(1, names);
  for (const std::string& value : values) contents += value;
  const auto count = static_cast<int32_t>(values.size() / fields.size());
  return mat_array(2, {1, count}, name, contents);
}

std::string mat_file(const std::vector<std::string>& variables,
                     bool compressed) {
  std::string bytes = "MATLAB 5.0 MAT-file, written by a test";
  bytes.resize(124, ' ');
  put(bytes, 0x0100, 2);
  bytes += "IM";
  for (const std::string& variable : variables) {
    if (!compressed) {
      bytes += variable;
      continue;
    }
    const std::string packed = stored_zlib(variable);
    put(bytes, 15, 4);
    put(bytes, packed.size(), 4);
    bytes += packed;
  }
  return bytes;
}

}  // namespace kith
