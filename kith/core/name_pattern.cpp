#include "kith/core/name_pattern.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/options.h"

namespace kith {
namespace {

/// Goes back to the last `*` where the characters behind it do not fit: at most
/// the product of both lengths, whatever the pattern.
bool fits_whole(std::string_view pattern, std::string_view name) {
  constexpr size_t kNone = std::string_view::npos;
  size_t p = 0, n = 0, star = kNone, behind = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      behind = n;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != kNone) {
      p = star + 1;
      n = ++behind;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == kNone;
}

/// The names and what they lie below, such as "backbone.layer1" and "backbone".
std::set<std::string> with_parts(const std::vector<std::string>& names) {
  std::set<std::string> all(names.begin(), names.end());
  for (const std::string& name : names) {
    for (size_t dot = name.find('.'); dot != std::string::npos;
         dot = name.find('.', dot + 1)) {
      all.insert(name.substr(0, dot));
    }
  }
  return all;
}

std::vector<std::string> nearest_parts(std::string_view pattern,
                                       const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  if (pattern.ends_with(".*")) pattern.remove_suffix(2);
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& part : with_parts(names)) {
    if (pattern.starts_with(part + ".")) continue;  // of which it is a part
    ranked.emplace_back(edit_distance(pattern, part), part);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(kShown, ranked.size()); ++i) {
    nearest.push_back(ranked[i].second);
  }
  return nearest;
}

}  // namespace

bool fits_pattern(std::string_view pattern, std::string_view name) {
  return fits_whole(pattern, name) ||
         fits_whole(std::string(pattern) + ".*", name);
}

std::vector<std::string> names_that_fit(
    const std::string& key, const std::string& what,
    const std::vector<std::string>& patterns,
    const std::vector<std::string>& names) {
  std::vector<bool> fits(names.size(), false);
  for (const std::string& pattern : patterns) {
    bool has_one = false;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!fits_pattern(pattern, names[i])) continue;
      fits[i] = has_one = true;
    }
    if (has_one) continue;
    const std::vector<std::string> nearest = nearest_parts(pattern, names);
    throw ConfigError("'" + key + "': '" + pattern + "' fits no " + what +
                      (nearest.empty()
                           ? std::string(", which has none")
                           : "; the nearest names are " + join(nearest)));
  }
  std::vector<std::string> chosen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (fits[i]) chosen.push_back(names[i]);
  }
  return chosen;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j < row.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace kith
