// Tasks: what the senders of a round of probes are to send. next_tasks.h chooses them, measure/
// carries them out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"

namespace heddle::probing {

enum class TaskKind : uint8_t {
  kTrace,    // with hop limits from 1 on until the destination answers
  kDeliver,  // `count` packets a flow, to the destination
  kHop,      // `count` packets a flow, whose hop limit ends at `hop`
  kTrain,    // `count` large packets back to back; `hop` 0: to the destination
};

// For the flows with source ports from `first_port` on.
struct Task {
  TaskKind kind = TaskKind::kTrace;
  uint32_t from = 0;
  uint32_t to = 0;
  uint16_t first_port = 0;
  uint16_t ports = 1;
  uint8_t hop = 0;
  uint32_t count = 0;

  bool operator==(const Task&) const = default;
};

struct NicAddress {
  uint32_t nic = 0;
  std::string address;
};

// What all hosts of a round know.
struct RoundSpec {
  uint64_t run = 0;   // not to be guessed; packets with another number are ignored
  uint16_t port = 0;  // at which NICs receive
  // From where probes come: packets with others are ignored.
  uint16_t first_port = 0;
  uint16_t ports = 0;
  Nanos lasts;  // at most: then receivers end by themselves, with an error
  std::vector<NicAddress> nics;
};

struct SendSpec {
  RoundSpec round;
  uint32_t packets_per_s = 0;  // that expire at routers; others may be more
  std::vector<Task> tasks;     // of this host's NICs
};

}  // namespace heddle::probing
