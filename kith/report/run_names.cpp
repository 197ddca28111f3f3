#include <algorithm>
#include <filesystem>
#include <map>

#include "kith/core/path.h"
#include "kith/report/run_record.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// The parts of a folder's whole path, the last one first.
std::vector<std::string> parts_of(const std::string& folder) {
  std::vector<std::string> parts;
  for (const fs::path& part : full_path(folder).lexically_normal()) {
    if (!part.empty() && part != "/") parts.push_back(part.string());
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

bool same_tail(const std::vector<std::string>& a,
               const std::vector<std::string>& b, size_t length) {
  return b.size() >= length &&
         std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(length),
                    b.begin());
}

std::string tail(const std::vector<std::string>& parts, size_t length) {
  std::string text;
  for (size_t i = length; i-- > 0;) {
    text += parts[i] + (i > 0 ? "/" : "");
  }
  return text.empty() ? "/" : text;
}

}  // namespace

void name_runs(std::vector<RunRecord>& runs) {
  std::vector<std::vector<std::string>> paths;
  paths.reserve(runs.size());
  for (const RunRecord& run : runs) paths.push_back(parts_of(run.folder));
  std::map<std::string, int> used;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto shared = [&](size_t length) {
      for (size_t j = 0; j < runs.size(); ++j) {
        if (j != i && same_tail(paths[i], paths[j], length)) return true;
      }
      return false;
    };
    size_t length = std::min<size_t>(1, paths[i].size());
    while (length < paths[i].size() && shared(length)) ++length;
    runs[i].name = tail(paths[i], length);
    // The same folder twice.
    const int times = ++used[runs[i].name];
    if (times > 1) runs[i].name += " (" + std::to_string(times) + ")";
  }
}

}  // namespace kith
