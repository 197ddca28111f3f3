// Lists the harnesses, writes what a fuzzer begins with, and runs them.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>

#include "kith/core/file.h"
#include "kith/core/log.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/replay.h"
#include "tests/support/paths.h"

namespace kith {
namespace {

const char* const kUsage =
    "usage: kith_fuzz list\n"
    "       kith_fuzz seeds FOLDER           writes FOLDER/HARNESS/* and\n"
    "                                        FOLDER/HARNESS.dict\n"
    "       kith_fuzz replay COUNT [HARNESS] seeds, findings and COUNT "
    "changed\n"
    "                                        copies of them\n"
    "       kith_fuzz read HARNESS FILE      one input\n"
    "       kith_fuzz run HARNESS [ARGUMENT ...]  libFuzzer, with its "
    "arguments\n";

const Harness& find(const std::string& name) {
  for (const Harness& harness : harnesses()) {
    if (harness.name == name) return harness;
  }
  std::fprintf(stderr, "there is no harness %s: see kith_fuzz list\n",
               name.c_str());
  std::exit(2);
}

/// A line of libFuzzer's dictionary.
std::string dictionary_line(const std::string& word) {
  std::string line = "\"";
  for (const char c : word) {
    char text[8];
    std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned char>(c));
    line += text;
  }
  return line + "\"\n";
}

int write_seeds(const std::string& folder) {
  for (const Harness& harness : harnesses()) {
    const std::string path = folder + "/" + harness.name;
    std::filesystem::create_directories(path);
    int number = 0;
    for (const std::string& seed : harness.seeds()) {
      write_file(path + "/seed" + std::to_string(++number), seed);
    }
    std::string dictionary;
    for (const std::string& word : harness.words) {
      dictionary += dictionary_line(word);
    }
    write_file(path + ".dict", dictionary);
  }
  return 0;
}

int replay_all(const std::vector<std::string>& arguments) {
  const int64_t count = std::atoll(arguments[1].c_str());
  int faults = 0;
  for (const Harness& harness : harnesses()) {
    if (arguments.size() > 2 && arguments[2] != harness.name) continue;
    faults += replay(
        harness, source_dir() + "/tests/fuzz/findings/" + harness.name, count);
  }
  return faults == 0 ? 0 : 1;
}

int read_one(const Harness& harness, const std::string& path) {
  const std::string fault = try_input(harness, read_file(path, 1 << 24)).fault;
  std::printf("%s\n", fault.empty() ? "no fault" : fault.c_str());
  return fault.empty() ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  const size_t count = arguments.size();
  const std::string command = count == 0 ? "" : arguments[0];
  if (command == "list" && count == 1) {
    for (const Harness& harness : harnesses()) std::puts(harness.name);
    return 0;
  }
  if (command == "seeds" && count == 2) return write_seeds(arguments[1]);
  if (command == "replay" && (count == 2 || count == 3)) {
    if (count == 3) find(arguments[2]);
    return replay_all(arguments);
  }
  if (command == "read" && count == 3) {
    return read_one(find(arguments[1]), arguments[2]);
  }
  if (command == "run" && count >= 2) {
    const Harness& harness = find(arguments[1]);
    std::vector<std::string> rest(arguments.begin() + 2, arguments.end());
    rest.push_back("-max_len=" + std::to_string(harness.longest));
    if (run_libfuzzer(harness, std::move(rest))) return 0;
    std::fputs("built without libFuzzer: scripts/fuzz builds it with clang\n",
               stderr);
    return 2;
  }
  std::fputs(kUsage, stderr);
  return 2;
}

}  // namespace
}  // namespace kith

int main(int count, char** values) {
  try {
    return kith::run({values + 1, values + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kith_fuzz: %s\n", error.what());
    return 1;
  }
}
