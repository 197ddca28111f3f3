#include "kith/models/weight_files.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/models/weights.h"
#include "tests/support/expect_error.h"
#include "tests/support/pth_files.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

class WeightFilesTest : public ::testing::Test {
 protected:
  /// A file with one tensor of one element.
  void save(const std::string& file, const std::string& name, double value) {
    const Tensor tensor = torch::full({1}, value);
    write_safetensors(dir_.file(file), {{name, view_of(tensor)}});
  }
  void index(const std::string& map) {
    dir_.write("model.safetensors.index.json",
               R"({"metadata": {"total_size": 8}, "weight_map": )" + map + "}");
  }
  template <class... Parts>
  void refuse(const Parts&... parts) {
    expect_error<DataError>([&] { find_weight_files(dir_.path()); }, parts...);
  }

  TempDir dir_;
};

TEST_F(WeightFilesTest, OfAFolderAreItsWeightsAndWhatDescribesThem) {
  save("model.safetensors", "a", 1);
  dir_.write("pytorch_model.bin", "not looked at");
  WeightFiles files = find_weight_files(dir_.path());
  EXPECT_EQ(files.weights,
            std::vector<std::string>{dir_.file("model.safetensors")});
  EXPECT_EQ(files.config, "");
  EXPECT_EQ(files.preprocessing, "");
  dir_.write("config.json", "{}");
  dir_.write("preprocessor_config.json", "{}");
  for (const std::string& path :
       {dir_.path(), dir_.path() + "/", dir_.file("model.safetensors")}) {
    files = find_weight_files(path);
    EXPECT_EQ(std::filesystem::path(files.config).filename(), "config.json");
    EXPECT_EQ(std::filesystem::path(files.preprocessing).filename(),
              "preprocessor_config.json");
  }
}

// A file of another name says nothing of what lies beside it.
TEST_F(WeightFilesTest, OfAFileOfAnotherNameAreTheFileAlone) {
  save("resnet50.safetensors", "a", 1);
  dir_.write("config.json", "{}");
  const WeightFiles files =
      find_weight_files(dir_.file("resnet50.safetensors"));
  EXPECT_EQ(files.weights,
            std::vector<std::string>{dir_.file("resnet50.safetensors")});
  EXPECT_EQ(files.config, "");
}

TEST_F(WeightFilesTest, PartsAreReadTogether) {
  save("model-00001-of-00002.safetensors", "a", 1);
  save("model-00002-of-00002.safetensors", "b", 2);
  index(R"({"b": "model-00002-of-00002.safetensors",
            "a": "model-00001-of-00002.safetensors"})");
  for (const std::string& path :
       {dir_.path(), dir_.file("model.safetensors.index.json")}) {
    const NamedTensors tensors = read_weights(path);
    ASSERT_EQ(tensors.size(), 2u);
    EXPECT_EQ(tensors[0].first, "a");
    EXPECT_EQ(tensors[1].first, "b");
    EXPECT_EQ(tensors[1].second.item<float>(), 2);
  }
}

TEST_F(WeightFilesTest, PartsOfTorchSaveAreReadTogether) {
  dir_.write("one.bin", raw_pth(p_dict({}), {}));
  save("two.bin", "b", 2);  // the format is told by content
  dir_.write("pytorch_model.bin.index.json",
             R"({"weight_map": {"a": "one.bin", "b": "two.bin"}})");
  EXPECT_EQ(read_weights(dir_.path()).size(), 1u);
}

TEST_F(WeightFilesTest, ATensorInTwoPartsIsRefused) {
  save("one.safetensors", "a", 1);
  save("two.safetensors", "model.a", 2);
  index(R"({"a": "one.safetensors", "model.a": "two.safetensors"})");
  expect_error<DataError>([&] { read_weights(dir_.path()); },
                          "two.safetensors: tensor 'a'", "one.safetensors too");
}

TEST_F(WeightFilesTest, FoldersWithoutWeightsAreRefused) {
  refuse(dir_.path(), "a folder without weights", "model.safetensors",
         "train.init_from");
}

TEST_F(WeightFilesTest, BrokenIndexesAreRefused) {
  index(R"({"a": "missing.safetensors"})");
  refuse("index.json", "'missing.safetensors'", "is the download complete?");
  index(R"({"a": "../w.safetensors"})");
  refuse("tensor 'a'", "the same folder");
  index(R"({"a": "/etc/passwd"})");
  refuse("tensor 'a'");
  index(R"({"a": ".."})");
  refuse("tensor 'a'");
  index(R"({"a": 3})");
  refuse("tensor 'a'");
  index("{}");
  refuse("no 'weight_map'");
  index("[]");
  refuse("no 'weight_map'");
  index("{");
  refuse("not JSON");
  dir_.write("model.safetensors.index.json", "[]");
  refuse("not a JSON object");
  dir_.write("model.safetensors.index.json", "");
  refuse("not JSON");
}

}  // namespace
}  // namespace kith
