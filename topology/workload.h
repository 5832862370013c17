// Workload: which host sends how much to which other, and what lets each begin, as plain data; and
// jobs whose ranks call collectives (job.h). Simulations start from it; workload_file.h and
// htsim_matrix.h read it from files, workload_patterns.h makes common ones.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"
#include "topology/job.h"
#include "topology/topology.h"

namespace heddle::topology {

inline constexpr uint32_t kNoTrigger = UINT32_MAX;
// A larger flow is sent as several messages, one behind the other on its channel.
inline constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 30;
// Messages from one host to one other, and so flows.
inline constexpr uint32_t kMaxMessagesOfPair = 65'535;
inline constexpr uint32_t kMaxFlowsOfPair = kMaxMessagesOfPair;
inline constexpr uint64_t kMaxFlowBytes = kMaxMessagesOfPair * kMaxMessageBytes;

// Messages that a flow of so many bytes is sent as.
constexpr uint32_t messages_of(Bytes bytes) {
  return static_cast<uint32_t>((bytes.count + kMaxMessageBytes - 1) / kMaxMessageBytes);
}

// What ends of flows set off. A flow that waits for one begins the moment it fires.
enum class TriggerKind : uint8_t {
  kOnce,     // the first end starts all that wait for it
  kEach,     // every end starts one more of them, in their order
  kBarrier,  // so many ends as `count` says start all of them
};

struct Trigger {
  TriggerKind kind = TriggerKind::kOnce;
  uint32_t count = 1;  // kBarrier
};

struct Flow {
  uint64_t id = 0;    // what it is called in results; each its own
  uint32_t from = 0;  // hosts
  uint32_t to = 0;
  Bytes bytes;
  Nanos start;                      // since all connections are there, where it waits for nothing
  uint32_t waits_for = kNoTrigger;  // begins when this fires
  uint32_t when_sent = kNoTrigger;  // its sender's end counts for this one
  uint32_t when_received = kNoTrigger;  // and its receiver's for this
};

struct Workload {
  std::vector<Flow> flows;
  std::vector<Trigger> triggers;
  std::vector<Job> jobs;
  std::vector<uint32_t> failed_links;  // of the topology: down from the start
};

// Errors: kInvalid, naming the first thing that makes no sense: no flow and no job, a host or
// trigger that is not there, a host that sends to itself, an id that two flows have, a size of 0 or
// above kMaxFlowBytes, more than kMaxMessagesOfPair between two hosts.
Result<void> validate(const Workload& workload, const Topology& topology);

}  // namespace heddle::topology
