#pragma once

#include <optional>
#include <string_view>

namespace kith {

/// A file of the page that the server shows.
struct PageFile {
  std::string_view content_type;
  std::string_view contents;
};

/// The file of this name, such as "index.html"; nothing if there is none.
std::optional<PageFile> find_page_file(std::string_view name);

}  // namespace kith
