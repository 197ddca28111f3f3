#include "kith/run/previous_checkpoint.h"

#include <filesystem>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/io/safetensors.h"

namespace kith {

namespace fs = std::filesystem;

std::string previous_checkpoint(const std::string& path) {
  fs::path previous(path);
  previous.replace_extension(".previous.safetensors");
  return previous.string();
}

void keep_previous_checkpoint(const std::string& path) {
  if (!path_exists(path)) return;
  const std::string previous = previous_checkpoint(path);
  remove_file(previous);
  std::error_code failed;
  // A second name for it: there is a last checkpoint at any moment.
  fs::create_hard_link(path, previous, failed);
  if (failed) {  // a file system without such names
    fs::copy_file(path, previous, failed);
  }
  if (failed) {
    throw RunError(previous + ": cannot be written: " + failed.message());
  }
}

std::string remedy_of_damage(const std::string& path) {
  if (!path_exists(path) || is_whole_safetensors(path)) return "";
  const fs::path folder = fs::path(path).parent_path();
  std::vector<std::string> others;
  for (const char* name : {"last", "last.previous", "best"}) {
    const std::string other =
        (folder / (std::string(name) + ".safetensors")).string();
    if (other != path && is_whole_safetensors(other)) others.push_back(other);
  }
  return others.empty() ? "" : "; whole are beside it: " + join(others);
}

std::string remedy_to_resume(const std::string& path) {
  if (is_whole_safetensors(path)) return "";
  const std::string previous = previous_checkpoint(path);
  if (!is_whole_safetensors(previous)) {
    return "; there is no whole one before it: start the run anew in another "
           "folder";
  }
  return "; the one before it is whole. To go on from that, to the same "
         "numbers: mv " +
         previous + " " + path + " and then resume again";
}

}  // namespace kith
