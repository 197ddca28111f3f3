#pragma once

#include <string>

namespace kith {

/// A line broken at the ends of words for the terminal that standard output is;
/// lines after the first begin with `indent` spaces. As it is if standard
/// output is no terminal. A word longer than a line stays whole.
std::string wrapped(const std::string& line, size_t indent);

/// The same for a given width.
std::string wrapped(const std::string& line, size_t indent, size_t columns);

}  // namespace kith
