#pragma once

#include <string>
#include <vector>

namespace kith {

/// A zip archive whose end says where its directory is, and whose checksums are
/// those of what lies in it, as far as either can be found.
std::string repair_zip(std::string bytes);

/// What archives are made of.
std::vector<std::string> zip_words();

}  // namespace kith
