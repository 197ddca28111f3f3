#pragma once

#include <string>
#include <string_view>

namespace kith {

/// Whether an Authorization field is "Bearer TOKEN". How long that takes tells
/// nothing of where the two differ.
bool has_token(std::string_view authorization, std::string_view token);

/// Whether two texts are the same but for the case of ASCII letters.
bool same_letters(std::string_view a, std::string_view b);

/// Whether a Host field names this machine as a server on a loopback address
/// is called: that address (`own`, as in a URL), 127.0.0.1, localhost or [::1],
/// with the port. A page of another name that was made to resolve to 127.0.0.1
/// (DNS rebinding) has its own.
bool is_loopback_host(std::string_view host, std::string_view own, int port);

/// Shorter tokens could be found by trying: 16 hexadecimal digits are 64 bits.
constexpr size_t kShortestToken = 16;

/// The token in a file, without white space at its end; ConfigError if it is
/// too short, or has characters that no Authorization field can have.
std::string read_token(const std::string& path);

/// The same of a text; `where` names it in messages.
std::string check_token(std::string text, const std::string& where);

}  // namespace kith
