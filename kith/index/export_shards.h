#pragma once

#include <cstdint>
#include <string>

#include "kith/index/item_table.h"
#include "kith/index/rows.h"

namespace kith {

struct ShardOptions {
  int64_t rows = 1'000'000;  ///< Of a shard; the last one has what is left.
  bool half = true;          ///< float16; else float32.
  std::string model;         ///< What the vectors are from, for the manifest.
  std::string model_hash;
};

struct ShardSummary {
  int64_t shards = 0;
  int64_t bytes = 0;  ///< Of all files.
};

/// ConfigError if the folder is there and not empty.
void check_shard_folder(const std::string& folder);

/// Writes vectors and their items for another vector store, in the folders
/// that clip-retrieval has:
///
///     FOLDER/img_emb/img_emb_0000.npy         [rows, dim]
///     FOLDER/metadata/metadata_0000.jsonl     {"id","image_path","label"}
///     FOLDER/manifest.json
///
/// The id of a vector is its number over all shards, from 0. The manifest has
/// counts, dimension, type, and the SHA-256 of every file. It is written last:
/// a folder without it is not whole. Memory is that of a block of rows.
ShardSummary export_shards(const std::string& folder, const Rows& rows,
                           const ItemTable& items, const ShardOptions& options);

}  // namespace kith
