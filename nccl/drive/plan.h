// Plan of a drive: which comms a rank has, and which messages go over each in one iteration. A pure
// function of the options; both ends of a comm compute the same sizes from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "nccl/drive.h"

namespace heddle::nccl {

// A send waits for messages received: message m of an iteration for message m - lag of `receive`.
struct Dependency {
  size_t receive = 0;  // index in Plan::receives
  uint64_t lag = 0;
};

// One comm: `messages` an iteration, in steps of `per_step`. The last of a step has `tail_bytes`.
struct CommPlan {
  int peer = 0;
  std::string key;  // the same at both ends: names the handle in the exchange, and the pattern
  uint64_t messages = 0;
  uint64_t per_step = 1;
  uint64_t message_bytes = 0;
  uint64_t tail_bytes = 0;
  uint64_t zero_every = 0;
  std::vector<Dependency> after;  // of sends

  // Of message `index`, counted over all iterations.
  uint64_t bytes_of(uint64_t index) const;
};

struct Plan {
  std::vector<CommPlan> sends;
  std::vector<CommPlan> receives;
  int in_flight = 1;
  uint64_t slot_bytes = 0;        // of every buffer, and of every receive
  bool optional_receive = false;  // requests of irecv preset to kOptionalCompletion
};

// Errors: kInvalid with the option that is out of range.
Result<Plan> make_plan(const DriveOptions& options);

}  // namespace heddle::nccl
