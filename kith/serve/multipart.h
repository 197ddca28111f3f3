#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kith {

/// A part of a form (RFC 7578), as `curl -F` and pages send it.
struct FormPart {
  std::string name;
  bool is_file = false;   ///< It has a filename.
  std::string_view data;  ///< Within the body.
};

/// Whether a Content-Type is that of a form with files.
bool is_form(std::string_view content_type);

inline constexpr size_t kMaxFormParts = 256;

/// Reads a body whose Content-Type is_form(). Returns what is wrong with it,
/// empty if nothing is. Time and memory grow with the body alone: no more
/// than kMaxFormParts parts are taken, with headers of at most 4 KiB.
std::string read_form(std::string_view content_type, std::string_view body,
                      std::vector<FormPart>& parts);

}  // namespace kith
