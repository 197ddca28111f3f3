#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kith {

/// What an index says of one of its vectors.
struct IndexItem {
  std::string path;   ///< Of the image, or the name it was given.
  std::string label;  ///< Of its class; empty if it has none.
};

/// Items by position, for tens of millions of them: the paths are one text, and
/// a label that many items share is kept once. An item takes its path's length
/// and 12 bytes.
class ItemTable {
 public:
  ItemTable() = default;
  /// Implicit: wherever a table is taken, a list will do.
  ItemTable(  // NOLINT(google-explicit-constructor)
      const std::vector<IndexItem>& items);

  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  std::string_view path(int64_t position) const;
  std::string_view label(int64_t position) const;
  /// The labels there are, in the order in which they were first added.
  const std::vector<std::string>& labels() const { return names_; }

  void add(std::string_view path, std::string_view label);

 private:
  std::string text_;
  std::vector<uint64_t> ends_;    ///< Of each path in the text.
  std::vector<uint32_t> labels_;  ///< Positions in names_.
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> number_of_;
};

/// A CSV file with the columns path and label and a row an item, in order.
/// Others are ignored. DataError names file and line.
ItemTable read_items(const std::string& path);

/// Writes it, atomically.
void write_items(const std::string& path, const ItemTable& items);

}  // namespace kith
