#include "kith/onnx/onnx_model.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/proto_message.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// y = x + b, with b of `count` numbers.
OnnxModel sum_model(int64_t count) {
  OnnxModel model;
  model.name = "g";
  model.description = "d";
  model.version = "1";
  model.input = {.name = "x", .type = at::kFloat, .shape = {"n", count}};
  model.output = {.name = "y", .type = at::kFloat, .shape = {"n", count}};
  model.nodes = {{"Add", "a", {"x", "b"}, {"y"}, {{"axis", int64_t{-1}}}}};
  model.constants = {{"b", torch::arange(1, 1 + count, torch::kFloat)}};
  model.metadata = {{"k", "v"}};
  return model;
}

std::string written(const OnnxModel& model, int64_t most = kMostOnnxBytes) {
  const TempDir folder;
  write_onnx(model, folder.file("m.onnx"), most);
  return read_file(folder.file("m.onnx"), 1 << 24);
}

// The numbers of the fields are those of onnx.proto.
TEST(OnnxModel, HasTheFieldsOfTheFormat) {
  const std::string bytes = written(sum_model(2));
  EXPECT_TRUE(
      bytes.starts_with("\x08\x05"         // ir_version
                        "\x12\x04kith"     // producer_name
                        "\x1A\x01\x31"     // producer_version
                        "\x32\x01\x64"     // doc_string
                        "\x42\x04\x0A"));  // opset_import
  EXPECT_THAT(bytes, HasSubstr(std::string("\x42\x04\x0A\0\x10\x0A", 6)));
  EXPECT_THAT(bytes, HasSubstr("\x72\x06\x0A\x01k\x12\x01v"));  // metadata
  // Node: inputs, output, name, type, and an attribute that is an integer.
  std::string attribute =
      "\x2A\x14\x0A\x04"
      "axis\x18";
  attribute += std::string(9, '\xFF') + "\x01\xA0\x01\x02";
  EXPECT_THAT(bytes, HasSubstr("\x0A\x01x\x0A\x01"
                               "b\x12\x01y\x1A\x01"
                               "a"
                               "\x22\x03"
                               "Add" +
                               attribute));
  // Constant: dims, data_type FLOAT, name, raw_data 1 and 2.
  EXPECT_TRUE(
      bytes.ends_with(std::string("\x08\x02\x10\x01\x42\x01"
                                  "b\x4A\x08\0\0\x80\x3F\0\0\0\x40",
                                  17)));
  // Input: a size with a name, and one that is a number.
  EXPECT_THAT(bytes, HasSubstr("\x0A\x03\x12\x01n\x0A\x02\x08\x02"));
}

TEST(OnnxModel, LengthsAreThoseOfWhatFollows) {
  const std::string bytes = written(sum_model(2));
  const size_t graph = bytes.find(
      "\x0A\x01x\x0A\x01"
      "b");
  ASSERT_NE(graph, std::string::npos);
  // The graph is last: its length, one or two bytes, ends at the file's end.
  const size_t key = bytes.find('\x3A', 20);
  ASSERT_LT(key, graph);
  const auto low = static_cast<uint8_t>(bytes.at(key + 1));
  const size_t length =
      low < 128
          ? low
          : (low & 127) + size_t{static_cast<uint8_t>(bytes.at(key + 2))} * 128;
  EXPECT_EQ(key + (low < 128 ? 2 : 3) + length, bytes.size());
}

TEST(OnnxModel, WeightsBeyondTheLimitAreInAFileBesideIt) {
  const TempDir folder;
  const std::string path = folder.file("m.onnx");
  OnnxModel model = sum_model(1000);
  model.constants.push_back({"c", torch::full({2, 500}, 7.0f)});
  model.constants.push_back({"small", torch::tensor({1.5f})});
  write_onnx(model, path, 5000);
  const std::string bytes = read_file(path, 1 << 20);
  EXPECT_LT(bytes.size(), 600u);
  ProtoMessage location, offset, length;
  location.add_bytes(1, "location");
  location.add_bytes(2, "m.onnx.data");
  offset.add_bytes(1, "offset");
  offset.add_bytes(2, "4096");
  length.add_bytes(1, "length");
  length.add_bytes(2, "4000");
  ProtoMessage fields;
  fields.add_message(13, location);
  fields.add_message(13, offset);
  fields.add_message(13, length);
  fields.add_int64(14, 1);
  EXPECT_THAT(bytes, HasSubstr(fields.bytes()));
  const std::string data = read_file(onnx_data_file(path), 1 << 20);
  ASSERT_EQ(data.size(), 8096u);
  EXPECT_EQ(data.substr(0, 4), std::string("\0\0\x80\x3F", 4));
  EXPECT_EQ(data.substr(4000, 96), std::string(96, '\0'));
  EXPECT_EQ(data.substr(4096, 4), std::string("\0\0\xE0\x40", 4));
  // Written again within the limit, the file beside it is gone.
  write_onnx(sum_model(2), path);
  EXPECT_FALSE(fs::exists(onnx_data_file(path)));
}

TEST(OnnxModel, StridedTensorsAreWrittenInOrder) {
  OnnxModel model = sum_model(4);
  model.constants = {{"b", torch::arange(4, torch::kByte).view({2, 2}).t()}};
  EXPECT_TRUE(
      written(model).ends_with(std::string("\x4A\x04\0\x02\x01\x03", 6)));
}

TEST(OnnxModel, RefusesNumbersThatItDoesNotWrite) {
  expect_error<ConfigError>([] { onnx_type(at::kComplexFloat); },
                            "ComplexFloat");
  expect_error<RunError>(
      [] { write_onnx(sum_model(2), "/no/such/folder/m.onnx"); },
      "/no/such/folder");
}

}  // namespace
}  // namespace kith
