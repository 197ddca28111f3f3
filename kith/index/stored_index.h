#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kith/index/index_info.h"
#include "kith/index/item_table.h"
#include "kith/index/vector_index.h"

namespace kith {

struct SearchHit {
  int64_t position = 0;
  float similarity = 0;
};

/// An index with the items behind its vectors: the files INDEX (faiss's
/// format), INDEX.items.csv (columns path, label) and INDEX.json.
class StoredIndex {
 public:
  StoredIndex(std::unique_ptr<VectorIndex> index, ItemTable items,
              IndexInfo info);

  /// DataError if a file is missing, damaged, or the three do not fit. All is
  /// compared with the checksums in INDEX.json, vectors when they are read. See
  /// load_vector_index for memory and device.
  static StoredIndex open(const std::string& path, int64_t memory_mb = 4096,
                          c10::Device device = at::kCPU);

  /// Writes the three files. If that is cut off at any moment, either what was
  /// there before stands or the new index does (see index_files.h). Where the
  /// index was opened only what changed is written.
  void save(const std::string& path) const;

  int64_t size() const;   ///< Without removed items.
  int64_t count() const;  ///< With them: positions are in [0, count()).
  int64_t dim() const;
  IndexItem item(int64_t position) const;
  const ItemTable& items() const { return items_; }
  const IndexInfo& info() const { return info_; }
  bool is_removed(int64_t position) const;

  /// The k nearest that are not removed and, if `keep` is given, for which it
  /// is true. [Q, dim] unit vectors on the CPU. Looks for more until there are
  /// k, or none are left.
  std::vector<std::vector<SearchHit>> search(
      const Tensor& queries, int64_t k,
      const std::function<bool(int64_t)>& keep = nullptr) const;

  /// All vectors, those of removed items too; see VectorIndex.
  Rows rows() const { return index_->rows(); }

  /// The vector at a position, [dim]; undefined if the kind cannot tell (then
  /// search with the image instead).
  Tensor vector(int64_t position) const;

  /// Appends vectors and as many items. Rows that are not in memory may be read
  /// until the index is gone. What was measured of the recall is forgotten.
  void add(const Rows& rows, const ItemTable& items);

  /// Removes all items with these paths; returns how many there were.
  int64_t remove(const std::vector<std::string>& paths);

 private:
  struct Search;

  static StoredIndex open_record(const std::string& path, IndexRecord record,
                                 int64_t memory_mb, c10::Device device);
  void replace_files(const std::string& path) const;

  std::unique_ptr<VectorIndex> index_;
  ItemTable items_;
  IndexInfo info_;
  IndexFiles files_;       ///< As they were opened.
  std::string opened_at_;  ///< Empty if it was not opened.
  bool changed_ = false;   ///< Vectors were added since.
};

}  // namespace kith
