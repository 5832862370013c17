// Interrupt: see interrupt.h.
#include "base/interrupt.h"

#include <signal.h>

#include <atomic>

namespace heddle {
namespace {

std::atomic<int>& seen_signal() {
  static std::atomic<int> signal_number{0};
  return signal_number;
}

std::atomic<bool>& reload_asked() {
  static std::atomic<bool> asked{false};
  return asked;
}

void note_reload(int) { reload_asked().store(true); }

void note_signal(int signal_number) { seen_signal().store(signal_number); }

}  // namespace

void catch_interrupts() {
  static_cast<void>(seen_signal());  // made before a handler needs it
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags =
      SA_RESETHAND;  // not SA_RESTART: a sleeping call ends, and the loop sees the flag
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void catch_reload() {
  static_cast<void>(reload_asked());
  struct sigaction action {};
  action.sa_handler = note_reload;
  sigaction(SIGHUP, &action, nullptr);
}

bool take_reload() { return reload_asked().exchange(false); }

int interrupted() { return seen_signal().load(); }

int interrupted_exit_status() { return 128 + interrupted(); }

}  // namespace heddle
