#include "cli/stop_signals.h"

#include <array>
#include <csignal>
#include <cstring>

#include <unistd.h>

#include "cli/this_rank.h"

namespace kith {
namespace {

std::atomic<bool> stop_asked{false};
std::atomic<int> first_signal{0};
bool on_terminal = false;
constexpr std::array kStopSignals = {SIGINT, SIGTERM};

/// Only what a handler may do.
void ask_to_stop(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  stop_asked = true;
  if (!on_terminal) return;
  // A step may take minutes, and who sees nothing presses again.
  const char* text = "\nkith: stops after this step; once more: at once\n";
  const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction before = {};
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals() {
  stop_asked = false;
  first_signal = 0;
  on_terminal = speaks() && ::isatty(STDERR_FILENO) == 1;
  for (const int signal : kStopSignals) {
    handle(signal, ask_to_stop, static_cast<int>(SA_RESETHAND) | SA_RESTART);
  }
}

StopSignals::~StopSignals() {
  for (const int signal : kStopSignals) handle(signal, SIG_DFL, 0);
}

const std::atomic<bool>* StopSignals::request() const { return &stop_asked; }

int StopSignals::first() const { return first_signal; }

}  // namespace kith
