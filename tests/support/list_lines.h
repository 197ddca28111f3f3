#pragma once

#include <string>
#include <vector>

#include "kith/data/image_list.h"

namespace kith {

/// "split/label:path" of every image, the path without the folder `root`.
inline std::vector<std::string> lines_of(const ImageList& list,
                                         const std::string& root) {
  std::vector<std::string> lines;
  for (const Item& item : list.items) {
    lines.push_back(std::string(split_name(item.split)) + "/" +
                    std::to_string(item.label) + ":" +
                    item.path.substr(root.size() + 1));
  }
  return lines;
}

}  // namespace kith
