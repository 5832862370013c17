// Clocks: how the clocks of a job's hosts stand to each other, and how well that is known. A
// message is acknowledged after it arrived: each bounds the difference of two clocks from one side,
// messages the other way from the other side (Duda et al., Estimating Global Time in Distributed
// Systems, 1987). Made in one pass, in memory of a stated bound.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "events/events.h"
#include "insight/party.h"

namespace heddle::insight {

// What a clock may run fast or slow by: as far as an operating system slews it.
inline constexpr double kMostDrift = 500e-6;
// Events carry the time of the loop that saw them, and that may be so old.
inline constexpr int64_t kStampNs = 10'000;

enum class ClockBasis : uint8_t {
  kReference,  // the others are held against it
  kMessages,
  kSameHost,   // the reference's: it is known exactly how far their namespaces of time are apart
  kWallClock,  // nothing bounds it from both sides: it stands as its host's wall clock says
};
const char* name_of(ClockBasis basis);

// A clock that some of the processes stamp their events with.
struct Clock {
  std::string name;   // of the host, and which where it has several
  uint32_t host = 0;  // a process whose clock it is
  ClockBasis basis = ClockBasis::kWallClock;
  // What is added to its times, at two of them, to make them those since 1970 of the job: by the
  // reference's wall clock. Between them, and beyond, it is on a line.
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  int64_t offset_from_ns = 0;
  int64_t offset_to_ns = 0;
  int64_t error_ns = 0;   // at most so wrong, from_ns to to_ns; -1: nobody knows
  uint64_t messages = 0;  // between it and other clocks that were looked at
  // So much later than the reference's is its host's wall clock.
  int64_t wall_ahead_ns = 0;

  // Of any times, as damaged recordings have.
  int64_t to_job(int64_t ns) const;
  // So much faster than the reference it runs.
  double drift_ppm() const;
  double drift_error_ppm() const;
};

struct Clocks {
  std::vector<Clock> clocks;  // the reference first
  std::vector<uint32_t> of_process;
};

class ClockBuilder {
 public:
  // Samples of messages that are held for so many at most, over all connections.
  static constexpr size_t kMostSamples = 4 << 20;

  ClockBuilder();
  ~ClockBuilder();

  // `wall_offset_ns`: what makes its clock the host's wall clock. Processes of one "clock" in their
  // identity, else of one host, share a clock. Those of one boot, which "clock" begins with, stand
  // to each other as their "clock_ahead_ns" say.
  uint32_t add_process(const Identity& identity, int64_t wall_offset_ns);
  // Whether events are needed: there are several clocks.
  bool needs_events() const;
  void add(uint32_t process, const events::AnyEvent& event);
  Clocks finish() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::insight
