#include "kith/index/item_table.h"

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/csv.h"

namespace kith {

ItemTable::ItemTable(const std::vector<IndexItem>& items) {
  for (const IndexItem& item : items) add(item.path, item.label);
}

std::string_view ItemTable::path(int64_t position) const {
  const auto i = static_cast<size_t>(position);
  KITH_ASSERT(i < ends_.size());
  const uint64_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

std::string_view ItemTable::label(int64_t position) const {
  const auto i = static_cast<size_t>(position);
  KITH_ASSERT(i < labels_.size());
  return names_[labels_[i]];
}

void ItemTable::add(std::string_view path, std::string_view label) {
  const auto [entry, is_new] = number_of_.try_emplace(
      std::string(label), static_cast<uint32_t>(names_.size()));
  if (is_new) names_.emplace_back(label);
  text_ += path;
  ends_.push_back(text_.size());
  labels_.push_back(entry->second);
}

ItemTable read_items(const std::string& path) {
  CsvRows rows(path);
  const size_t path_column = rows.head().column("path");
  const size_t label_column = rows.head().column("label");
  ItemTable items;
  while (const CsvRow* row = rows.next()) {
    items.add(row->fields[path_column], row->fields[label_column]);
  }
  return items;
}

void write_items(const std::string& path, const ItemTable& items) {
  write_file_atomically(path, [&](FileWriter& file) {
    file.write("path,label\n");
    uint64_t bytes = 0;
    for (int64_t i = 0; i < items.size(); ++i) {
      const std::string line =
          csv_quote(items.path(i)) + "," + csv_quote(items.label(i)) + "\n";
      bytes += line.size();
      if (bytes >= kMaxCsvBytes) {
        throw RunError(path + ": the paths and labels of " +
                       std::to_string(items.size()) +
                       " items take more than the 4 GiB that can be read "
                       "again; make several indexes, or export shards");
      }
      file.write(line);
    }
  });
}

}  // namespace kith
