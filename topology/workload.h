// Workload: flows between hosts and the triggers that start them, as plain data; and jobs whose
// ranks call collectives (job.h). Input of simulations. workload_file.h and htsim_matrix.h read it
// from files, workload_patterns.h makes common ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"
#include "topology/job.h"
#include "topology/topology.h"

namespace heddle::topology {

inline constexpr uint32_t kNoTrigger = UINT32_MAX;
// A larger flow is sent as several messages, in sequence on its channel.
inline constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 30;
// Messages, and therefore flows, from one host to one other.
inline constexpr uint32_t kMaxMessagesOfPair = 65'535;
inline constexpr uint32_t kMaxFlowsOfPair = kMaxMessagesOfPair;
inline constexpr uint64_t kMaxFlowBytes = kMaxMessagesOfPair * kMaxMessageBytes;

// The number of messages of a flow of this size.
constexpr uint32_t messages_of(Bytes bytes) {
  return static_cast<uint32_t>((bytes.count + kMaxMessageBytes - 1) / kMaxMessageBytes);
}

// Starts flows when other flows end. A flow that waits for a trigger begins when the trigger fires.
enum class TriggerKind : uint8_t {
  kOnce,     // the first end starts all waiting flows
  kEach,     // every end starts one more of them, in order
  kBarrier,  // the `count`-th end starts all of them
};

struct Trigger {
  TriggerKind kind = TriggerKind::kOnce;
  uint32_t count = 1;  // kBarrier
};

struct Flow {
  uint64_t id = 0;    // unique; shown in results
  uint32_t from = 0;  // host indexes, as is `to`
  uint32_t to = 0;
  Bytes bytes;
  Nanos start;                          // from the time when all connections are established
  uint32_t waits_for = kNoTrigger;      // begins when this trigger fires
  uint32_t when_sent = kNoTrigger;      // trigger that counts the flow's end at the sender
  uint32_t when_received = kNoTrigger;  // trigger that counts its end at the receiver
};

struct Workload {
  std::vector<Flow> flows;
  std::vector<Trigger> triggers;
  std::vector<Job> jobs;
  std::vector<uint32_t> failed_links;  // links of the topology that are down from the start
  std::vector<std::string> notes;      // what a foreign file has and this does not, for the user
};

// Errors: kInvalid for the first contradiction: no flow and no job, a host or trigger that does not
// exist, a host that sends to itself, a duplicate id, a size of 0 or above kMaxFlowBytes, more than
// kMaxMessagesOfPair between two hosts.
Result<void> validate(const Workload& workload, const Topology& topology);

}  // namespace heddle::topology
