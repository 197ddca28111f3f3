#pragma once

#include <string>
#include <vector>

namespace kith {

/// What was found for one query, for the page.
struct SearchPageQuery {
  struct Found {
    std::string path;
    std::string label;
    double similarity = 0;
  };
  std::string name;         ///< The image's path, or the embedding's number.
  bool is_picture = false;  ///< Whether the name is the path of an image.
  std::vector<Found> found;
  std::string nothing = {};  ///< Why it is empty, if something is known.
};

/// A page that shows queries with what they find as small pictures, all of them
/// inside the page. Files that are gone have an empty frame that says so, and
/// are named. `lead` is the sentence below the title.
std::string search_page(const std::string& lead,
                        const std::vector<SearchPageQuery>& queries);

}  // namespace kith
