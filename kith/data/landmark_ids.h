#pragma once

#include <string>

namespace kith {

/// Images of the Google Landmarks data sets have names of 16 hexadecimal
/// digits. DataError that starts with `where` unless an id is at least three
/// letters, digits, '_' or '-': a name that stays in its folder.
void check_landmark_id(const std::string& id, const std::string& where);

/// Where the second version keeps an image: "a/b/c/abc0123456789def.jpg".
std::string sharded_path(const std::string& id);

}  // namespace kith
