// Preloaded into a program: lets one of its large allocations fail.
//
//     KITH_NO_MEMORY="N SIZE REPORT" LD_PRELOAD=libkith_no_memory.so kith ...
//
// The N-th (from 1) of at least SIZE bytes, and writes "struck" to the file
// REPORT when it does. Counted from where kith's own main() begins: libraries
// that find no memory while they are loaded end the program in their own way.

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

namespace {

struct Plan {
  long at = 0;
  size_t size = 0;
  char report[4096] = {};
};

const Plan& plan() {
  static const Plan plan = [] {
    Plan read;
    const char* text = std::getenv("KITH_NO_MEMORY");
    if (text == nullptr || std::sscanf(text, "%ld %zu %4095s", &read.at,
                                       &read.size, read.report) != 3) {
      read.at = 0;
    }
    return read;
  }();
  return plan;
}

std::atomic<bool> kith_runs{false};

/// Whether an allocation is the one that fails.
bool strikes(size_t size) {
  if (!kith_runs || plan().at == 0 || size < plan().size) return false;
  static std::atomic<long> count{0};
  if (++count != plan().at) return false;
  const int file = ::open(plan().report, O_WRONLY | O_CREAT, 0644);
  char text[64];
  const int length = std::snprintf(text, sizeof text, "struck %zu\n", size);
  const ssize_t written = ::write(file, text, static_cast<size_t>(length));
  static_cast<void>(written);
  ::close(file);
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

// glibc's own names, for dlsym() allocates itself.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

// Which main() of kith calls, for SIGXFSZ and as one of the first.
void (*signal(int number, void (*handler)(int)) noexcept)(int) {
  if (number == SIGXFSZ) kith_runs = true;
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  return ::sigaction(number, &action, &before) == 0 ? before.sa_handler
                                                    : SIG_ERR;
}

void* malloc(size_t size) {
  return strikes(size) ? nullptr : __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  return strikes(count * size) ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
  return strikes(size) ? nullptr : __libc_realloc(memory, size);
}

void* memalign(size_t alignment, size_t size) {
  return strikes(size) ? nullptr : __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"
