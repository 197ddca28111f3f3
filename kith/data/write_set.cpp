#include "kith/data/write_set.h"

#include <filesystem>

#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/image/encode.h"
#include "kith/io/csv.h"

namespace kith {

std::string write_data_set(const DataSet& data, const std::string& folder,
                           Progress& progress) {
  namespace fs = std::filesystem;
  const auto total = static_cast<int64_t>(data.list().items.size());
  std::string list = "path,label,split\n";
  progress.start("write images", total);
  for (int64_t i = 0; i < total; ++i) {
    const Item& item = data.list().items[static_cast<size_t>(i)];
    const fs::path path = fs::path(folder) / item.path;
    make_folders(path.parent_path());
    write_png(path.string(), data.load(i));
    list += csv_quote(item.path) + "," + std::to_string(item.label) + "," +
            split_name(item.split) + "\n";
    progress.advance(i + 1, "");
  }
  progress.finish();
  // The list last: a folder with a dataset.csv is complete.
  std::string path = folder + "/dataset.csv";
  write_file_atomically(path, list);
  return path;
}

}  // namespace kith
