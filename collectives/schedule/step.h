// Step: one operation of a rank in a collective, as data. A schedule is a sequence of steps with
// the semantics of sequential execution; an execution may run several at once if the result is the
// same (execution/scoreboard.h).
#pragma once

#include <cstdint>

namespace heddle::collectives {

enum class Buffer : uint8_t { kInput, kOutput, kScratch };

// Where bytes lie; offsets are in bytes.
struct Place {
  Buffer buffer = Buffer::kOutput;
  uint64_t offset = 0;
};

enum class StepKind : uint8_t {
  kSend,           // source to the peer
  kReceive,        // from the peer to destination
  kReceiveReduce,  // destination = source combined with what the peer sent; at most a chunk
  kCopy,           // source to destination
};

// The n-th send to a peer on a channel meets that peer's n-th receive from here on that channel,
// and is as long. A length of zero is a message too.
struct Step {
  StepKind kind = StepKind::kSend;
  uint8_t channel = 0;          // below kStepChannels
  bool received_first = false;  // kReceiveReduce: what was received is the first operand
  bool completes = false;       // kReceiveReduce: nothing more is combined into these elements
  // kReceive: it was made of all that this rank did at its destination before, so all that is over
  // when something of it comes.
  bool answers = false;
  // kSend: its acknowledgement may be deferred, since a later send to the same peer requests one
  // for both.
  bool unasked = false;
  uint32_t peer = 0;  // a rank; nothing for kCopy
  uint64_t bytes = 0;
  Place source;
  Place destination;
};

inline constexpr uint32_t kStepChannels = 2;

}  // namespace heddle::collectives
