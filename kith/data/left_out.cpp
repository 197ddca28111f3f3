#include "kith/data/left_out.h"

#include <algorithm>

#include "kith/core/file.h"
#include "kith/core/quote.h"
#include "kith/io/csv.h"

namespace kith {

void write_left_out(const std::string& file,
                    const std::vector<BrokenImage>& images) {
  std::string text = "position,path,problem\n";
  for (const BrokenImage& image : images) {
    text += std::to_string(image.position) + "," + csv_quote(image.path) + "," +
            csv_quote(image.problem) + "\n";
  }
  write_file_atomically(file, text);
}

std::vector<BrokenImage> read_left_out(const std::string& file) {
  const CsvTable table = read_csv(file);
  const size_t position = table.column("position");
  const size_t path = table.column("path");
  const size_t problem = table.column("problem");
  std::vector<BrokenImage> images;
  for (const CsvRow& row : table.rows()) {
    images.push_back(
        {parse_integer(row.fields[position], table.where(row), "position"),
         row.fields[path], row.fields[problem]});
  }
  return images;
}

std::string left_out_text(const std::vector<BrokenImage>& images) {
  constexpr size_t kNames = 5;
  std::string text = std::to_string(images.size()) +
                     (images.size() == 1 ? " image" : " images") +
                     " that cannot be read: ";
  const size_t shown = std::min(images.size(), kNames);
  for (size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? "" : ", ") + printable(images[i].path);
  }
  if (images.size() > shown) {
    text += " and " + std::to_string(images.size() - shown) + " more";
  }
  return text;
}

}  // namespace kith
