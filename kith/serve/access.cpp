#include "kith/serve/access.h"

#include <algorithm>
#include <cctype>

#include "kith/core/error.h"
#include "kith/core/file.h"

namespace kith {

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

bool has_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "Bearer ";
  if (token.empty() ||
      !same_letters(authorization.substr(0, kScheme.size()), kScheme)) {
    return false;
  }
  const std::string_view given = authorization.substr(kScheme.size());
  // volatile: the loop must not be left at the first difference.
  volatile unsigned difference = given.size() == token.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    difference =
        difference | (static_cast<unsigned char>(given[i]) ^
                      static_cast<unsigned char>(token[i % token.size()]));
  }
  return difference == 0;
}

bool is_loopback_host(std::string_view host, std::string_view own, int port) {
  const std::string suffix = ":" + std::to_string(port);
  if (host.ends_with(suffix)) {
    host.remove_suffix(suffix.size());
  } else if (port != 80) {  // the only one that is left out
    return false;
  }
  return host == own || host == "127.0.0.1" || host == "[::1]" ||
         same_letters(host, "localhost");
}

std::string read_token(const std::string& path) {
  return check_token(read_file(path, 4096), path);
}

std::string check_token(std::string text, const std::string& where) {
  const auto is_space = [](char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
  };
  while (!text.empty() && is_space(text.back())) text.pop_back();
  const bool is_plain = std::all_of(text.begin(), text.end(),
                                    [](char c) { return c > ' ' && c <= '~'; });
  if (text.empty() || !is_plain) {
    throw ConfigError(where +
                      ": expected a token of letters and digits on one "
                      "line; make one with: openssl rand -hex 16");
  }
  if (text.size() < kShortestToken) {
    throw ConfigError(where + ": the token has " + std::to_string(text.size()) +
                      " characters and could be found by trying; it needs at "
                      "least " +
                      std::to_string(kShortestToken) +
                      ": make one with: openssl rand -hex 16");
  }
  return text;
}

}  // namespace kith
