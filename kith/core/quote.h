#pragma once

#include <string>
#include <string_view>

namespace kith {

/// 'text' for a message: one line whatever the text holds (control characters
/// become \xNN) and cut after 80 bytes.
std::string quote(std::string_view text);

}  // namespace kith
