#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kith {

/// A parser as the fuzzer sees it.
struct Harness {
  const char* name;
  /// Reads the bytes, and what they hold as far as its size is bounded by
  /// theirs. The errors that tell users of a bad file may leave it: DataError,
  /// ConfigError, those of nlohmann::json. Anything else is a finding.
  std::function<void(std::string_view bytes)> read;
  /// Small valid files of each kind, to begin with.
  std::function<std::vector<std::string>()> seeds;
  /// What such files are made of.
  std::vector<std::string> words = {};
  /// Makes checksums and lengths right again, which hide the rest of a parser
  /// from random changes; null: there are none.
  std::function<std::string(std::string bytes)> repair = nullptr;
  /// Longer inputs are not tried.
  size_t longest = 4096;
};

/// All harnesses, by name.
const std::vector<Harness>& harnesses();

/// In the file of each harness: `const AddHarness kAdd({...});`
struct AddHarness {
  explicit AddHarness(Harness harness);
};

/// What came of a file of a stranger.
struct Outcome {
  bool refused = false;    ///< As it should be, if something is wrong with it.
  std::string fault = {};  ///< Of the parser; empty: none.
};
Outcome try_input(const Harness& harness, std::string_view bytes);

/// A path under which readers of files find the bytes: in memory, so that a
/// million of them are no work for a disk. The next call writes over them.
const std::string& as_file(std::string_view bytes);

/// Runs libFuzzer with its own arguments; false if it was not built in.
bool run_libfuzzer(const Harness& harness, std::vector<std::string> arguments);

}  // namespace kith
