// The harness under libFuzzer, which looks at what each input reaches.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/harness.h"

extern "C" {
int LLVMFuzzerRunDriver(int* count, char*** arguments,
                        int (*read)(const uint8_t* data, size_t size));
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t longest);
}

namespace kith {
namespace {

const Harness* chosen = nullptr;

int read_one(const uint8_t* data, size_t size) {
  const std::string fault =
      try_input(*chosen, {reinterpret_cast<const char*>(data), size}).fault;
  if (!fault.empty()) {
    std::fprintf(stderr, "%s: %s\n", chosen->name, fault.c_str());
    std::abort();
  }
  return 0;
}

}  // namespace

bool run_libfuzzer(const Harness& harness, std::vector<std::string> arguments) {
  chosen = &harness;
  arguments.insert(arguments.begin(), "kith_fuzz");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(arguments.size());
  char** values = pointers.data();
  std::exit(LLVMFuzzerRunDriver(&count, &values, read_one));
}

}  // namespace kith

/// libFuzzer's own change, then right checksums but for one time in eight.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t longest, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, longest);
  if (kith::chosen->repair == nullptr || seed % 8 == 0) return size;
  const std::string repaired = kith::chosen->repair(
      std::string(reinterpret_cast<const char*>(data), size));
  if (repaired.size() > longest) return size;
  std::memcpy(data, repaired.data(), repaired.size());
  return repaired.size();
}
