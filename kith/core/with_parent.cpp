#include "kith/core/with_parent.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <sys/prctl.h>
#include <unistd.h>

namespace kith {

void end_with_parent() {
  const char* parent = std::getenv(kParentVariable);
  if (parent == nullptr) return;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // It may have ended before.
  if (std::to_string(::getppid()) != parent) std::_Exit(1);
  ::unsetenv(kParentVariable);
}

std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  auto all = changes;
  all.emplace_back(kParentVariable, std::to_string(::getpid()));
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool changes_it =
        std::any_of(all.begin(), all.end(),
                    [&](const auto& change) { return change.first == name; });
    if (!changes_it) environment.push_back(text);
  }
  for (const auto& [name, value] : all) {
    environment.push_back(name + "=" + value);
  }
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace kith
