#pragma once

#include <string>
#include <string_view>

namespace kith {

/// Checks that tags are balanced, attributes quoted, and no bare '&' or '<'
/// stands in text. Knows HTML's void elements, the doctype and the raw text of
/// <style> and <script>. Returns "" when all is well, else what is wrong and
/// where.
std::string markup_fault(std::string_view markup);

/// Occurrences of `needle`, not overlapping.
int count_of(std::string_view text, std::string_view needle);

}  // namespace kith
