#include "kith/index/export_shards.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json_text.h"
#include "kith/core/path.h"
#include "kith/core/sha256.h"
#include "kith/io/npy.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t kBlock = 8192;  // rows in memory at a time

std::string sha256_of_file(const std::string& path) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  const FileReader file(path);
  std::vector<char> piece(std::min(kPiece, file.size()));
  Sha256 hash;
  for (uint64_t at = 0; at < file.size(); at += piece.size()) {
    const uint64_t size = std::min<uint64_t>(piece.size(), file.size() - at);
    file.read_at(at, piece.data(), size);
    hash.add(piece.data(), size);
  }
  return hash.hex();
}

void write_vectors(const std::string& path, const Rows& rows, int64_t first,
                   int64_t count, bool half) {
  write_npy(path, half ? DType::kF16 : DType::kF32, {count, rows.dim()},
            [&](FileWriter& writer) {
              for (int64_t at = 0; at < count; at += kBlock) {
                const int64_t size = std::min(kBlock, count - at);
                const Tensor block =
                    rows.read(first + at, size)
                        .cpu()
                        .to(half ? torch::kHalf : torch::kFloat)
                        .contiguous();
                writer.write(block.data_ptr(), block.nbytes());
              }
            });
}

void write_metadata(const std::string& path, const ItemTable& items,
                    int64_t first, int64_t count) {
  write_file_atomically(path, [&](FileWriter& writer) {
    for (int64_t id = first; id < first + count; ++id) {
      Json line = {{"id", id}};
      set_path(line, "image_path", items.path(id));
      line["label"] = items.label(id);
      writer.write(json_text(line, -1) + "\n");
    }
  });
}

/// "0007"; more digits if the last shard needs them, so that names sort.
std::string shard_number(int64_t shard, int64_t shards) {
  const size_t width = std::max(size_t{4}, std::to_string(shards - 1).size());
  const std::string digits = std::to_string(shard);
  return std::string(width - digits.size(), '0') + digits;
}

void make_shard_folders(const std::string& folder) {
  check_shard_folder(folder);
  for (const char* name : {"/img_emb", "/metadata"}) {
    make_folders(folder + name);
  }
}

}  // namespace

void check_shard_folder(const std::string& folder) {
  std::error_code none;
  if (!fs::exists(folder, none)) return;
  if (fs::is_directory(folder, none) && fs::is_empty(folder, none)) return;
  throw ConfigError(folder +
                    " is there already: name a new folder for the shards, or "
                    "empty this one");
}

ShardSummary export_shards(const std::string& folder, const Rows& rows,
                           const ItemTable& items,
                           const ShardOptions& options) {
  KITH_ASSERT(items.size() == rows.count() && options.rows > 0);
  make_shard_folders(folder);
  ShardSummary summary;
  summary.shards = (rows.count() + options.rows - 1) / options.rows;
  Json shards = Json::array();
  for (int64_t shard = 0; shard < summary.shards; ++shard) {
    const int64_t first = shard * options.rows;
    const int64_t count = std::min(options.rows, rows.count() - first);
    const std::string number = shard_number(shard, summary.shards);
    const std::string vectors = "img_emb/img_emb_" + number + ".npy";
    const std::string metadata = "metadata/metadata_" + number + ".jsonl";
    write_vectors(folder + "/" + vectors, rows, first, count, options.half);
    write_metadata(folder + "/" + metadata, items, first, count);
    Json files = Json::array();
    for (const std::string& file : {vectors, metadata}) {
      const std::string path = folder + "/" + file;
      const auto bytes = bytes_of(path);
      summary.bytes += bytes;
      files.push_back(
          {{"path", file}, {"bytes", bytes}, {"sha256", sha256_of_file(path)}});
    }
    shards.push_back({{"first", first}, {"rows", count}, {"files", files}});
  }
  const Json manifest = {{"format", "kith shards"},
                         {"version", 1},
                         {"count", rows.count()},
                         {"dim", rows.dim()},
                         {"dtype", options.half ? "float16" : "float32"},
                         {"normalised", true},
                         {"similarity", "inner product"},
                         {"model", options.model},
                         {"model_hash", options.model_hash},
                         {"shards", shards}};
  const std::string text = json_text(manifest) + "\n";
  write_file_atomically(folder + "/manifest.json", text);
  summary.bytes += std::ssize(text);
  return summary;
}

}  // namespace kith
