#include "kith/io/npy.h"

#include "tests/fuzz/harness.h"
#include "tests/support/pth_files.h"

namespace kith {
namespace {

std::string npy(char version, std::string header, const std::string& data) {
  header += '\n';
  const std::string size =
      version == 1 ? little_endian(static_cast<uint16_t>(header.size()))
                   : little_endian(static_cast<uint32_t>(header.size()));
  return std::string("\x93NUMPY") + version + '\0' + size + header + data;
}

std::string header(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape +
         ", }";
}

std::vector<std::string> seeds() {
  const std::string data = raw_floats({1, 2, 3, 4, 5, 6});
  return {npy(1, header("<f4", "(2, 3)"), data),
          npy(2, header("<f8", "(3,)"), data),
          npy(3, header("|u1", "(2, 3, 4)"), data),
          npy(1, header("<f2", "(12, 1)"), data),
          npy(1, header("<i8", "()"), data.substr(0, 8)),
          npy(1, header("|b1", "(0, 5)"), "")};
}

/// The length of the header as it is, up to the brace that ends it.
std::string repair(std::string bytes) {
  const size_t brace = bytes.find('}');
  if (bytes.size() < 12 || brace == std::string::npos) return bytes;
  const size_t begin = bytes[6] == 1 ? 10 : 12;
  size_t end = bytes.find('\n', brace);
  end = end == std::string::npos ? bytes.size() : end + 1;
  if (end < begin) return bytes;
  const std::string size = little_endian(static_cast<uint32_t>(end - begin));
  return bytes.replace(8, begin - 8, size.substr(0, begin - 8));
}

void read(std::string_view bytes) {
  const NpyFile file(as_file(bytes));
  const Array whole = read_npy(file.path());
  if (file.shape().empty() || file.shape()[0] < 1) return;
  std::string row(static_cast<size_t>(file.byte_size() / file.shape()[0]), 0);
  file.read_rows(file.shape()[0] - 1, 1, row.data());
}

const AddHarness kAdd({.name = "npy",
                       .read = read,
                       .seeds = seeds,
                       .words = {"'descr'", "'fortran_order'", "'shape'", "<f4",
                                 "<f8", "<f2", "<i4", "<i8", "|u1", "|b1",
                                 ">f4", "False", "True", "9223372036854775807",
                                 "-1", "(", ")", ","},
                       .repair = repair});

}  // namespace
}  // namespace kith
