// Summary: a job's communication, rank by rank: the share hidden behind computation, slow calls,
// retransmissions, and findings that deserve attention. One pass; memory does not grow with the
// number of events.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/nanos.h"
#include "events/events.h"
#include "insight/params.h"
#include "insight/party.h"
#include "insight/traffic.h"

namespace heddle::insight {

// From begin to end; zero where end is not later. Accepts any time: damaged recordings contain
// arbitrary ones.
Nanos span_of(Nanos begin, Nanos end);

// What NCCL's proxy did in one direction. Waits are summed over transfers, which overlap.
struct ProxyWork {
  uint64_t operations = 0;
  uint64_t transfers = 0;
  uint64_t bytes = 0;
  uint64_t retransmitted_bytes = 0;
  Nanos gpu_wait;      // sent: until the data was there; received: until it was taken
  Nanos peer_wait;     // sent: until the receiver was ready; received: until the data had come
  Nanos network_wait;  // sent: until its end; received: until it was visible to the GPU

  ProxyWork& operator+=(const ProxyWork& more);
};

struct ProcessSummary {
  Party party;
  Nanos first;  // time of the first event, by the process's own clock
  Nanos last;
  uint64_t events = 0;
  uint64_t calls = 0;
  uint64_t calls_failed = 0;
  Nanos communicating;  // at least one call was in progress
  Nanos exposed;        // the caller was blocked in a wait; the rest was hidden
  uint64_t bursts_lost = 0;
  uint64_t segments_lost = 0;
  uint64_t segments_dropped = 0;
  std::array<uint64_t, events::kRecoveryStepCount> recovery{};
  uint64_t peers_dead = 0;
  uint64_t connections_failed = 0;      // for other reasons
  uint32_t refused_datagram_bytes = 0;  // the largest that some path did not pass; 0: every path
                                        // passed all
  uint32_t passed_datagram_bytes = 0;   // the largest that this path passed
  std::array<ProxyWork, 2> proxy;       // by events::Direction
  uint64_t profile_dropped = 0;         // events of NCCL that its profiler could not record

  Nanos hidden() const { return communicating - exposed; }
  Nanos span() const { return span_of(first, last); }
};

struct SlowCall {
  uint32_t process = 0;
  uint64_t communicator = 0;
  uint64_t number = 0;
  events::Operation operation = events::Operation::kAllreduce;
  events::Algorithm algorithm = events::Algorithm::kRing;
  uint64_t bytes = 0;  // of the rank's buffer, or of its block
  Nanos took;
  Nanos began;  // by the process's clock
};

struct OperationSummary {
  uint64_t calls = 0;  // summed over all ranks
  uint64_t bytes = 0;
  Nanos total;
  Nanos longest;
};

struct Summary {
  std::vector<ProcessSummary> processes;
  std::map<events::Operation, OperationSummary> operations;
  std::vector<SlowCall> slowest;               // at most kSlowest, the slowest first
  std::map<uint64_t, uint32_t> communicators;  // size of each
  std::map<uint64_t, uint32_t> members;        // number of its ranks whose events were recorded
};

class SummaryBuilder {
 public:
  static constexpr size_t kSlowest = params::kSlowestCalls;

  uint32_t add_process(const Identity& identity);
  void add(uint32_t process, const events::AnyEvent& event);
  Summary finish() const;

 private:
  struct Made {
    events::CallMade call;
    events::Algorithm algorithm = events::Algorithm::kRing;
  };
  struct State {
    std::map<std::pair<uint64_t, uint32_t>, Made> under_way;
    Nanos busy_since;
    uint32_t waits = 0;
    Nanos waits_since;
  };

  void note_end(uint32_t process, const Made& made, Nanos at);
  template <typename Event>
  void on(uint32_t /*process*/, const Event& /*event*/) {}
  void on(uint32_t process, const events::CallMade& event);
  void on(uint32_t process, const events::CallStarted& event);
  void on(uint32_t process, const events::CallEnded& event);
  void on(uint32_t process, const events::WaitBegun& event);
  void on(uint32_t process, const events::WaitEnded& event);
  void on(uint32_t process, const events::BurstLost& event);
  void on(uint32_t process, const events::SegmentDropped& event);
  void on(uint32_t process, const events::Recovery& event);
  void on(uint32_t process, const events::ConnectionClosed& event);
  void on(uint32_t process, const events::PathSized& event);
  void on(uint32_t process, const events::CommunicatorMade& event);
  void on(uint32_t process, const events::ProxyOp& event);
  void on(uint32_t process, const events::ProfileDropped& event);

  Summary summary_;
  std::vector<State> states_;
};

// An observation that deserves attention, and what to do about it.
struct Finding {
  std::string what;
  std::string todo;
};

// The findings of a job. `traffic` must come from the same events.
std::vector<Finding> findings_of(const Summary& summary, const Traffic& traffic);

}  // namespace heddle::insight
