#include "kith/index/export_shards.h"

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/sha256.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Json = nlohmann::json;

struct ExportShards : ::testing::Test {
  ExportShards()
      : rows(normalize_rows(random_normal({7, 5}, 3, at::kFloat))), items(7) {
    for (size_t i = 0; i < items.size(); ++i) {
      items[i] = {"a \"b\"/" + std::to_string(i) + ".png", "class, one"};
    }
  }

  Json read_json(const std::string& file) const {
    return Json::parse(read_file(out + "/" + file, 1 << 20));
  }

  TempDir folder;
  std::string out = folder.file("shards");
  Tensor rows;
  std::vector<IndexItem> items;
};

TEST_F(ExportShards, WritesVectorsItemsAndManifest) {
  const ShardSummary summary =
      export_shards(out, rows, items, {3, false, "runs/a", "abc"});
  EXPECT_EQ(summary.shards, 3);
  std::vector<Tensor> parts;
  int64_t id = 0;
  int64_t bytes =
      static_cast<int64_t>(std::filesystem::file_size(out + "/manifest.json"));
  const Json manifest = read_json("manifest.json");
  for (const Json& shard : manifest.at("shards")) {
    EXPECT_EQ(shard.at("first"), id);
    const Json& files = shard.at("files");
    parts.push_back(
        load_npy(out + "/" + files[0].at("path").get<std::string>()));
    EXPECT_EQ(shard.at("rows"), parts.back().size(0));
    for (const Json& file : files) {
      const std::string path = out + "/" + file.at("path").get<std::string>();
      const std::string contents = read_file(path, 1 << 20);
      Sha256 hash;
      hash.add(contents.data(), contents.size());
      EXPECT_EQ(file.at("sha256"), hash.hex());
      bytes += file.at("bytes").get<int64_t>();
    }
    std::istringstream lines(
        read_file(out + "/" + files[1].at("path").get<std::string>(), 1 << 20));
    for (std::string line; std::getline(lines, line); ++id) {
      const IndexItem& item = items[static_cast<size_t>(id)];
      EXPECT_EQ(
          Json::parse(line),
          Json({{"id", id}, {"image_path", item.path}, {"label", item.label}}));
    }
  }
  EXPECT_EQ(id, 7);
  EXPECT_EQ(summary.bytes, bytes);
  EXPECT_TRUE(torch::equal(torch::cat(parts), rows));
  EXPECT_EQ(manifest.at("shards")[2].at("files")[0].at("path"),
            "img_emb/img_emb_0002.npy");
  EXPECT_EQ(manifest.at("count"), 7);
  EXPECT_EQ(manifest.at("dim"), 5);
  EXPECT_EQ(manifest.at("dtype"), "float32");
  EXPECT_EQ(manifest.at("model"), "runs/a");
  EXPECT_EQ(manifest.at("model_hash"), "abc");
}

TEST_F(ExportShards, RoundsToHalfPrecision) {
  EXPECT_EQ(export_shards(out, rows, items, {}).shards, 1);
  EXPECT_TRUE(torch::equal(load_npy(out + "/img_emb/img_emb_0000.npy"),
                           rows.to(torch::kHalf)));
  EXPECT_EQ(read_json("manifest.json").at("dtype"), "float16");
}

TEST_F(ExportShards, TakesPathsThatAreNotUtf8) {
  items[0].path = "caf\xe9.png";
  export_shards(out, rows, items, {});
  const std::string text =
      read_file(out + "/metadata/metadata_0000.jsonl", 1 << 20);
  EXPECT_NE(text.find("caf\\\\xe9.png"), std::string::npos);
  EXPECT_NE(text.find("\"image_path_bytes\":\"636166e92e706e67\""),
            std::string::npos);
}

TEST_F(ExportShards, RefusesAFolderWithFiles) {
  std::filesystem::create_directory(out);
  export_shards(out, rows, items, {});
  expect_error<ConfigError>([&] { export_shards(out, rows, items, {}); }, out,
                            "name a new folder");
}

}  // namespace
}  // namespace kith
