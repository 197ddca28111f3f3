#include "tests/cli/run_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kith/core/file.h"
#include "tests/support/paths.h"

namespace kith {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMilliseconds = 2;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }

  /// Takes what is there; closes the pipe at its end.
  void drain(std::string& text) {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::read(read_end, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
    if (count == 0) close_end(read_end);
  }
};

/// In the child, between fork and exec: nothing that allocates.
[[noreturn]] void become(char* const* argv, const char* folder, const Pipe& out,
                         const Pipe& err) {
  // A shell that starts the tests in the background has them ignored.
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  const int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0 && ::dup2(null, STDIN_FILENO) >= 0 &&
      ::dup2(out.write_end, STDOUT_FILENO) >= 0 &&
      ::dup2(err.write_end, STDERR_FILENO) >= 0 &&
      (*folder == '\0' || ::chdir(folder) == 0)) {
    ::execv(argv[0], argv);
  }
  ::_exit(127);
}

/// Reads both pipes until the program has closed them, and kills it when the
/// options say so.
void watch(pid_t child, const ProgramOptions& options, Pipe& out, Pipe& err,
           ProgramResult& result) {
  constexpr std::chrono::milliseconds kBetweenSignals{50};
  const Clock::time_point end = Clock::now() + options.timeout;
  Clock::time_point next_signal = Clock::now();
  bool signalled = false;
  bool killed = false;
  while (out.read_end >= 0 || err.read_end >= 0) {
    std::array<pollfd, 2> waiting = {pollfd{out.read_end, POLLIN, 0},
                                     pollfd{err.read_end, POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), kPollMilliseconds) > 0) {
      if (waiting[0].revents != 0) out.drain(result.out);
      if (waiting[1].revents != 0) err.drain(result.err);
    }
    const bool may_signal = !signalled || options.insist;
    if (may_signal && Clock::now() >= next_signal && options.kill_when &&
        options.kill_when()) {
      ::kill(child, options.signal);
      signalled = true;
      next_signal = Clock::now() + kBetweenSignals;
    }
    if (!killed && Clock::now() > end) {
      ::kill(child, SIGKILL);
      killed = true;
      ADD_FAILURE() << "the program did not end in time";
    }
  }
}

std::string shown(const std::vector<std::string>& arguments) {
  std::string text = "kith";
  for (const std::string& word : arguments) text += " " + word;
  return text;
}

/// The last line, and a failure if a line before it is no log line, which
/// begins with the time of day.
std::string message_of(const std::string& err) {
  std::istringstream lines(err);
  std::string line;
  std::string next;
  std::getline(lines, line);
  while (std::getline(lines, next)) {
    EXPECT_TRUE(line.size() > 8 && line[2] == ':' && line[5] == ':')
        << "a message of more than one line: " << err;
    line = next;
  }
  return line;
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& argv,
                          const ProgramOptions& options) {
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  Pipe out;
  Pipe err;
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child == 0) become(pointers.data(), options.folder.c_str(), out, err);
  Pipe::close_end(out.write_end);
  Pipe::close_end(err.write_end);

  ProgramResult result;
  watch(child, options, out, err, result);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  return result;
}

ProgramResult run_kith(const std::vector<std::string>& arguments,
                       const ProgramOptions& options) {
  std::vector<std::string> argv = {program_path()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_program(argv, options);
}

ProgramResult expect_success(const std::vector<std::string>& arguments,
                             const ProgramOptions& options) {
  const ProgramResult result = run_kith(arguments, options);
  EXPECT_EQ(result.exit_code, 0) << shown(arguments) << "\n" << result.err;
  EXPECT_EQ(result.signal, 0) << shown(arguments) << "\n" << result.err;
  return result;
}

ProgramResult expect_failure(int exit_code,
                             const std::vector<std::string>& arguments,
                             const std::vector<std::string_view>& parts,
                             const ProgramOptions& options) {
  SCOPED_TRACE(shown(arguments));
  const ProgramResult result = run_kith(arguments, options);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  const std::string message = message_of(result.err);
  EXPECT_TRUE(message.starts_with("kith: ")) << result.err;
  for (const std::string_view part : parts) {
    EXPECT_NE(message.find(part), std::string::npos)
        << "no \"" << part << "\" in: " << result.err;
  }
  return result;
}

std::string contents(const std::string& path) {
  return read_file(path, uint64_t{1} << 26);
}

int count_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::istreambuf_iterator<char> begin(file);
  return static_cast<int>(
      std::count(begin, std::istreambuf_iterator<char>(), '\n'));
}

}  // namespace kith
