#include "kith/distributed/host_list.h"

#include <charconv>

#include "kith/core/error.h"
#include "kith/core/quote.h"

namespace kith {
namespace {

[[noreturn]] void not_a_list(const std::string& text) {
  throw ConfigError(quote(text) + " is not a list of SLURM");
}

/// The number at `at`, which moves behind it.
int64_t number_at(const std::string& text, size_t& at) {
  int64_t value = 0;
  const char* begin = text.data() + at;
  const auto [end, error] =
      std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc() || value < 0) not_a_list(text);
  at += static_cast<size_t>(end - begin);
  return value;
}

}  // namespace

std::string first_host(const std::string& list) {
  // Each group in brackets gives its first number, with its zeros.
  std::string host;
  for (size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const size_t end = list.find_first_of(",-]", at);
    const size_t close = list.find(']', at);
    if (close == std::string::npos || end == at + 1) not_a_list(list);
    host += list.substr(at + 1, end - at - 1);
    at = close;
  }
  if (host.empty()) not_a_list(list);
  return host;
}

int64_t count_of_node(const std::string& counts, int64_t index) {
  int64_t nodes = 0;
  for (size_t at = 0; at < counts.size(); ++at) {
    const int64_t count = number_at(counts, at);
    int64_t times = 1;
    if (counts.compare(at, 2, "(x") == 0) {
      at += 2;
      times = number_at(counts, at);
      if (at >= counts.size() || counts[at] != ')') not_a_list(counts);
      ++at;
    }
    if (at < counts.size() && counts[at] != ',') not_a_list(counts);
    nodes += times;
    if (index < nodes) return count;
  }
  throw ConfigError(quote(counts) + " has no entry for node " +
                    std::to_string(index));
}

}  // namespace kith
