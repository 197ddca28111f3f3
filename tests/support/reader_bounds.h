#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <ostream>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/temp_dir.h"

namespace kith {

/// A file made to cost more than its size, and a reader that must not let it.
struct HostileFile {
  std::string name;  ///< Letters, digits and '_'; the test's name.
  std::string file;  ///< What it is called: readers look at endings.
  std::function<std::string()> bytes;
  std::function<void(const std::string& path)> read;
  /// A part of the error; empty if the file is read to its end.
  std::string error = {};
  /// Memory for each byte of the file, beside 64 MB for any.
  double memory_per_byte = 64;
};

inline void PrintTo(const HostileFile& file, std::ostream* out) {
  *out << file.name;
}

/// Copies of `piece` up to this length.
inline std::string repeated(std::string_view piece, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text;
}

/// make("0"), make("1"), ..., up to this length.
template <class Make>
std::string numbered(size_t bytes, const Make& make) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += make(std::to_string(i));
  return text;
}

/// What a process that read the file came to.
struct ReaderCost {
  std::string outcome;   ///< "read", "refused: ..." or what else happened.
  double seconds = 0;    ///< Of processor time.
  double megabytes = 0;  ///< At most, beyond what the process began with.
};

/// Sanitizers take memory and time of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasuresCost = false;
#else
constexpr bool kMeasuresCost = true;
#endif

namespace detail {

inline std::string outcome_of(const HostileFile& file,
                              const std::string& path) {
  try {
    file.read(path);
    return "read";
  } catch (const ConfigError& error) {
    return std::string("refused: ") + error.what();
  } catch (const DataError& error) {
    return std::string("refused: ") + error.what();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return std::string("another error: ") + error.what();
  }
}

/// A field of /proc/self/statm, in bytes: 1 is what is resident, 5 is data.
inline double memory_field(int field) {
  double pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    for (int i = 0; i <= field; ++i) {
      if (std::fscanf(file, "%lf", &pages) != 1) pages = 0;
    }
    std::fclose(file);
  }
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

inline double resident_megabytes() { return memory_field(1) / 1e6; }

/// So that a reader that fails the test takes neither the machine's memory nor
/// minutes. A process that has used a GPU has gigabytes of data before.
inline void set_limits() {
  const rlimit processor = {20, 20};
  ::setrlimit(RLIMIT_CPU, &processor);
  const rlim_t bytes = static_cast<rlim_t>(memory_field(5)) + (rlim_t{3} << 30);
  const rlimit data = {bytes, bytes};
  ::setrlimit(RLIMIT_DATA, &data);
  const rlimit core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &core);
}

inline double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace detail

/// Reads the file in a process of its own.
inline ReaderCost cost_of(const HostileFile& file, const std::string& path) {
  const std::string said = path + ".outcome";
#if defined(__GLIBC__)
  ::malloc_trim(0);  // room that the other process could use unseen
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    // Less than here: pages of libraries come anew when they are needed.
    const double before = detail::resident_megabytes();
    if (kMeasuresCost) detail::set_limits();
    const std::string outcome = detail::outcome_of(file, path);
    const std::string text = std::to_string(before) + " " + outcome;
    const int out = ::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const bool written = ::write(out, text.data(), text.size()) >= 0;
    ::_exit(written ? 0 : 1);
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  ReaderCost cost;
  cost.seconds =
      detail::seconds_of(usage.ru_utime) + detail::seconds_of(usage.ru_stime);
  cost.megabytes = static_cast<double>(usage.ru_maxrss) * 1024e-6;
  if (WIFSIGNALED(status)) {
    cost.outcome = "killed by signal " + std::to_string(WTERMSIG(status));
    return cost;
  }
  const std::string text = read_file(said, 1 << 20);
  cost.outcome = text.substr(text.find(' ') + 1);
  cost.megabytes -= std::stod(text);
  return cost;
}

inline void expect_bounded(const HostileFile& file) {
  const TempDir folder;
  const std::string bytes = file.bytes();
  const double size = static_cast<double>(bytes.size());
  const ReaderCost cost = cost_of(file, folder.write(file.file, bytes));
  if (file.error.empty()) {
    EXPECT_EQ(cost.outcome, "read");
  } else {
    EXPECT_EQ(cost.outcome.rfind("refused: ", 0), 0u) << cost.outcome;
    EXPECT_NE(cost.outcome.find(file.error), std::string::npos)
        << "no \"" << file.error << "\" in: " << cost.outcome;
  }
  if (std::getenv("KITH_SHOW_COST") != nullptr) {
    std::printf("%-40s %8.3f MB: %6.2f s %7.1f MB\n", file.name.c_str(),
                size / 1e6, cost.seconds, cost.megabytes);
  }
  if (!kMeasuresCost) return;
  // An unoptimised build on a slow machine needs a tenth.
  EXPECT_LE(cost.seconds, 1.0 + 2.0 * size / 1e6);
  EXPECT_LE(cost.megabytes, 64 + file.memory_per_byte * size / 1e6);
}

}  // namespace kith
