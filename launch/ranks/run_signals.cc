// RunSignals: see run_signals.h.
#include "launch/ranks/run_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "launch/params.h"

namespace heddle::launch {
namespace {

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kOthers = {SIGUSR1, SIGUSR2};

}  // namespace

RunSignals::~RunSignals() {
  if (descriptor_ >= 0) close(descriptor_);
}

sigset_t RunSignals::watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int number : kEnding) sigaddset(&set, number);
  for (const int number : kOthers) sigaddset(&set, number);
  return set;
}

bool RunSignals::open() {
  const sigset_t set = watched();
  descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  return descriptor_ >= 0;
}

std::optional<RunSignals::Signal> RunSignals::next(pid_t outer, Nanos now) {
  signalfd_siginfo sent{};
  while (read(descriptor_, &sent, sizeof sent) == sizeof sent) {
    Signal signal{.number = static_cast<int>(sent.ssi_signo)};
    if (signal.number == SIGCHLD) continue;
    const bool twin = is_twin(signal.number, static_cast<pid_t>(sent.ssi_pid) == outer, now);
    signal.ends = std::find(kEnding.begin(), kEnding.end(), signal.number) != kEnding.end();
    // What the terminal sends, every process of the run has got already.
    signal.pass_on = !twin && (!signal.ends || sent.ssi_code != SI_KERNEL);
    if (signal.ends) {
      // One that was meant once comes twice where it was sent to the whole process group.
      signal.again = interrupted_at_ && now - *interrupted_at_ > params::kSameSignal;
      if (!interrupted_at_) interrupted_at_ = now;
    }
    return signal;
  }
  return std::nullopt;
}

bool RunSignals::is_twin(int number, bool from_outer, Nanos now) {
  Seen& seen = seen_.at(static_cast<size_t>(number));
  const bool twin =
      seen.at && seen.from_outer != from_outer && now - *seen.at < params::kSameSignal;
  if (!twin) seen = {now, from_outer};
  return twin;
}

}  // namespace heddle::launch
