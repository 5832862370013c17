// RunControl: a socket in the folder of an elastic run with a maximum. Other processes of the same
// user learn by it which runs there are, and change the number of ranks of one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/plan.h"

namespace heddle::launch {

struct RunState {
  std::string folder;   // where it listens
  pid_t process = 0;    // of `heddle run`
  uint32_t ranks = 0;   // that are in the job now
  uint32_t wanted = 0;  // that it is to have
  Elastic elastic;
  std::string command;
};

// The supervisor's side.
class RunControl {
 public:
  // What a run does when it is asked for its state (0), or for another number of ranks.
  using Answer = std::function<Result<RunState>(uint32_t wanted)>;

  RunControl();
  ~RunControl();
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  // Errors: kSystem.
  Result<void> listen(const std::string& folder);
  // Readable when a process asks; -1: it does not listen.
  int descriptor() const { return socket_; }
  // Answers those that ask now. One that sends nothing holds it up for 0.2 s at most.
  void answer(const Answer& answer) const;

 private:
  int socket_ = -1;
  // Closed while one that asks is turned away for want of descriptors.
  mutable int spare_;
};

// The runs of this user that listen, by their processes. Where this process is a rank of one, that
// one alone. Errors: kVersion where there are none but of another version.
Result<std::vector<RunState>> running_runs();

// The run is to have as many ranks. Errors: kUnavailable (it has ended, or does not allow it now);
// kInvalid where it never does; kVersion.
Result<RunState> resize_run(const RunState& run, uint32_t ranks);

}  // namespace heddle::launch
