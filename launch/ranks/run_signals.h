// RunSignals: the signals that the supervisor of a run gets. One signal may come several times: the
// terminal sends Ctrl-C to every process of the run, and the outer process passes on what it gets.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <optional>

#include "base/nanos.h"

namespace heddle::launch {

class RunSignals {
 public:
  struct Signal {
    int number = 0;
    bool ends = false;     // it asks the run to end
    bool pass_on = false;  // the ranks have not got it already
    bool again = false;    // the user asks for the second time
  };

  RunSignals() = default;
  ~RunSignals();
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;

  // SIGCHLD is among them.
  static sigset_t watched();
  // The watched signals are blocked. Returns whether it could be opened.
  bool open();
  // Readable when one is there.
  int descriptor() const { return descriptor_; }
  // The next one but for SIGCHLD, without waiting; `outer`: the process that passes signals on.
  std::optional<Signal> next(pid_t outer, Nanos now);

 private:
  struct Seen {
    std::optional<Nanos> at;
    bool from_outer = false;
  };

  // One to the whole process group comes from its sender, and from the outer process again.
  bool is_twin(int number, bool from_outer, Nanos now);

  int descriptor_ = -1;
  std::array<Seen, NSIG> seen_;  // of each number the latest that was no twin
  std::optional<Nanos> interrupted_at_;
};

}  // namespace heddle::launch
