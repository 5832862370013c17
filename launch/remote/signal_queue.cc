// See signal_queue.h.
#include "launch/remote/signal_queue.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace heddle::launch {
namespace {

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kOthers = {SIGUSR1, SIGUSR2, SIGCHLD};

}  // namespace

SignalQueue::SignalQueue() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kEnding) sigaddset(&set, number);
  for (const int number : kOthers) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  queue_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::optional<int> SignalQueue::next() {
  signalfd_siginfo sent{};
  if (read(queue_.number(), &sent, sizeof sent) != sizeof sent) return std::nullopt;
  return static_cast<int>(sent.ssi_signo);
}

void restore_signals() {
  for (const int number : kEnding) signal(number, SIG_DFL);
  for (const int number : kOthers) signal(number, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool is_ending(int number) {
  return std::find(kEnding.begin(), kEnding.end(), number) != kEnding.end();
}

}  // namespace heddle::launch
