#include "tests/fuzz/replay.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <random>

#include <fcntl.h>
#include <unistd.h>

#include "kith/core/file.h"
#include "tests/support/damage.h"

namespace kith {
namespace {

/// A parser may take this long for one input.
constexpr unsigned kSeconds = 10;

/// What is being read, and where it goes if a signal ends that.
const std::string* reading = nullptr;
char kept_path[256];

void keep_input(int signal) {
  const int out = ::open(kept_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const bool kept = ::write(out, reading->data(), reading->size()) >= 0;
  std::fprintf(stderr, "%s: ended by signal %d%s\n", kept_path, signal,
               signal == SIGALRM ? ": it takes too long" : "");
  ::_exit(kept ? 1 : 2);
}

std::string path_of(const Harness& harness, const std::string& what) {
  return std::string("kith_fuzz-") + harness.name + "-" + what;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// A copy with something of the format in it, or a part of another file, or
/// only damaged; then, more often than not, with right checksums.
std::string changed(const Harness& harness,
                    const std::vector<std::string>& corpus,
                    std::mt19937_64& random) {
  std::string bytes = corpus[random() % corpus.size()];
  const auto place = [&] { return random() % (bytes.size() + 1); };
  switch (random() % 4) {
    case 0:
      if (!harness.words.empty()) {
        const std::string& word =
            harness.words[random() % harness.words.size()];
        const size_t at = place();
        bytes.replace(at, random() % 2 == 0 ? 0 : word.size(), word);
      }
      break;
    case 1: {
      const std::string& other = corpus[random() % corpus.size()];
      bytes.resize(place());
      bytes += other.substr(random() % (other.size() + 1));
      break;
    }
    default:
      break;
  }
  bytes = damage(std::move(bytes), random);
  bytes.resize(std::min(bytes.size(), harness.longest));
  if (harness.repair != nullptr && random() % 4 != 0) {
    bytes = harness.repair(std::move(bytes));
  }
  return bytes;
}

Outcome try_in_time(const Harness& harness, const std::string& bytes) {
  reading = &bytes;
  ::alarm(kSeconds);
  Outcome outcome = try_input(harness, bytes);
  ::alarm(0);
  return outcome;
}

}  // namespace

int replay(const Harness& harness, const std::string& findings, int64_t count) {
  std::snprintf(kept_path, sizeof kept_path, "%s",
                path_of(harness, "signal").c_str());
  for (const int signal : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) {
    std::signal(signal, keep_input);
  }
  int faults = 0;
  const auto tell = [&](const std::string& path, const std::string& fault) {
    std::fprintf(stderr, "%s: %s: %s\n", harness.name, path.c_str(),
                 fault.c_str());
    ++faults;
  };
  std::vector<std::string> corpus = harness.seeds();
  for (const std::string& seed : corpus) {
    // A seed is a good file: a fuzzer that starts from refused ones sees little
    // of a parser.
    try {
      harness.read(seed);
    } catch (const std::exception& error) {
      tell("a seed", std::string("refused: ") + error.what());
    }
  }
  for (const std::string& path : files_in(findings)) {
    corpus.push_back(read_file(path, 1 << 20));
    const std::string fault = try_in_time(harness, corpus.back()).fault;
    if (!fault.empty()) tell(path, fault);
  }
  std::mt19937_64 random(7);
  // Without libwebp or libtiff their harnesses have no seeds.
  int64_t good = 0;
  for (int64_t i = 0; i < count && !corpus.empty(); ++i) {
    const std::string bytes = changed(harness, corpus, random);
    const auto [refused, fault] = try_in_time(harness, bytes);
    if (!refused) ++good;
    if (fault.empty()) continue;
    const std::string path = path_of(harness, std::to_string(i));
    write_file(path, bytes);
    tell(path, fault);
  }
  std::printf("%-15s %3zu files, %7lld changed copies, %3.0f %% accepted\n",
              harness.name, corpus.size(), static_cast<long long>(count),
              100.0 * static_cast<double>(good) /
                  static_cast<double>(std::max<int64_t>(count, 1)));
  std::fflush(stdout);
  return faults;
}

}  // namespace kith
