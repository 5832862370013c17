// Clocks: estimates the offset and drift between the clocks of a job's hosts, with an error bound.
// A message is acknowledged after it arrived, so each message bounds the difference of two clocks
// from one side, and messages in the other direction bound it from the other side (Duda et al.,
// Estimating Global Time in Distributed Systems, 1987). One pass over the events; memory is bounded
// by `kMostSamples`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "events/events.h"
#include "insight/params.h"
#include "insight/party.h"

namespace heddle::insight {

using params::clocks::kMostDrift;
using params::clocks::kStampNs;

enum class ClockBasis : uint8_t {
  kReference,  // all other clocks are relative to it
  kMessages,
  kSameHost,   // on the reference's host: the offset between their time namespaces is known exactly
  kWallClock,  // not bounded from both sides: the host's wall clock is used
};
const char* name_of(ClockBasis basis);

// A clock with which one or more processes stamp their events.
struct Clock {
  std::string name;   // the host's name, with a number where a host has several clocks
  uint32_t host = 0;  // the number of a process that uses the clock
  ClockBasis basis = ClockBasis::kWallClock;
  // The offset that converts this clock's times to job time (since 1970, by the reference's wall
  // clock), at two times of this clock. Other times use the line through these two points.
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  int64_t offset_from_ns = 0;
  int64_t offset_to_ns = 0;
  int64_t error_ns = 0;   // largest error from from_ns to to_ns; -1: unknown
  uint64_t messages = 0;  // messages to and from other clocks that were used
  // How far the host's wall clock is ahead of the reference's.
  int64_t wall_ahead_ns = 0;

  // Accepts any time: damaged recordings contain arbitrary ones.
  int64_t to_job(int64_t ns) const;
  // Drift relative to the reference; positive: this clock runs faster.
  double drift_ppm() const;
  double drift_error_ppm() const;
};

struct Clocks {
  std::vector<Clock> clocks;  // the reference is first
  std::vector<uint32_t> of_process;
};

class ClockBuilder {
 public:
  // Largest number of message samples in memory, over all connections.
  static constexpr size_t kMostSamples = params::clocks::kMostSamples;

  ClockBuilder();
  ~ClockBuilder();

  // `wall_offset_ns` converts the process's clock to its host's wall clock. Processes with the same
  // "clock" in their identity share a clock; without that field, processes of the same host do.
  // Processes with the same boot id (the first word of "clock") have exact offsets, given by their
  // "clock_ahead_ns".
  uint32_t add_process(const Identity& identity, int64_t wall_offset_ns);
  // True where there are several clocks, so add() must get the events.
  bool needs_events() const;
  void add(uint32_t process, const events::AnyEvent& event);
  Clocks finish() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

// Clocks of recordings that have no messages, by those of processes of the same machine.
class MachineClocks {
 public:
  void add(const Identity& process, const Clock& clock);
  // The clock of the identity's recording; nothing: no process with a clock of its machine is
  // known.
  std::optional<Clock> find(const Identity& identity) const;

 private:
  std::map<std::string, std::pair<int64_t, Clock>> by_machine_;  // and how far it is ahead there
};

}  // namespace heddle::insight
