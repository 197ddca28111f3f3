#include "kith/io/safetensors.h"

#include "kith/core/file.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/sum_repair.h"
#include "tests/support/pth_files.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

std::string with_length(const std::string& header, const std::string& data) {
  return little_endian<uint64_t>(header.size()) + header + data;
}

std::vector<std::string> seeds() {
  const TempDir dir;
  const float values[6] = {1, 2, 3, 4, 5, 6};
  const std::string path = dir.file("a.safetensors");
  write_safetensors(path,
                    {{"a", {DType::kF32, {2, 3}, values}},
                     {"b.weight", {DType::kU8, {4}, values}},
                     {"none", {DType::kF64, {0, 7}, values}}},
                    {{"format", "pt"}});
  return {read_file(path, 1 << 20),
          with_length(R"({"x":{"dtype":"BF16","shape":[2],)"
                      R"("data_offsets":[0,4]},"y":{"dtype":"I64",)"
                      R"("shape":[],"data_offsets":[4,12]}}  )",
                      "0123456789ab"),
          with_length("{}", "")};
}

/// The length of the header up to the last brace, and its sum.
std::string repair(std::string bytes) {
  const size_t brace = bytes.rfind('}');
  if (brace == std::string::npos || brace < 8) return bytes;
  const std::string header =
      with_own_sum(bytes.substr(8, brace - 7), R"("kith.crc32c.header":")");
  return with_length(header, bytes.substr(brace + 1));
}

void read(std::string_view bytes) {
  const SafetensorsFile file(as_file(bytes));
  for (const SafetensorsEntry& entry : file.entries()) file.read(entry.name);
}

const AddHarness kAdd(
    {.name = "safetensors",
     .read = read,
     .seeds = seeds,
     .words = {"\"dtype\":", "\"shape\":", "\"data_offsets\":",
               "\"__metadata__\":", "\"F64\"", "\"F32\"", "\"F16\"", "\"BF16\"",
               "\"I64\"", "\"I32\"", "\"U8\"", "\"BOOL\"",
               "\"kith.crc32c.header\"", "\"kith.crc32c.tensors\"",
               "18446744073709551615", "9223372036854775807", "1e9", "\\u0000"},
     .repair = repair});

}  // namespace
}  // namespace kith
