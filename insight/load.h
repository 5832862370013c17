// Load: what each NIC of a job sent and received over time, and its microbursts: short spans in
// which it carried much more than around them (Zhang et al., IMC 2017, look for them in switches).
// One pass over all processes' events in order of time; memory is bounded: columns get wider for a
// long job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "events/events.h"
#include "insight/params.h"
#include "insight/party.h"

namespace heddle::insight {

struct LoadColumn {
  int64_t index = 0;   // begins at this multiple of Load::column_ns
  uint64_t bytes = 0;  // on the wire
  uint64_t peak = 0;   // bytes of its largest bin
};

struct NicLoad {
  std::string host;
  std::string name;  // of the device, else its address; empty: an unidentified NIC of the host
  BitsPerSec rate;   // of its link; zero: unknown
  // By events::Direction.
  std::array<std::vector<LoadColumn>, 2> columns;
  std::array<uint64_t, 2> bytes{};
  std::array<uint64_t, 2> peak{};  // of the largest bin
};

// A run of bins in each of which a NIC carried at least kTimesMean times its mean over the 10 ms
// around. Its largest bin holds at least a quarter of the link's capacity, or of the NIC's largest
// bin where the link's rate is unknown.
struct Microburst {
  uint32_t nic = 0;
  events::Direction direction = events::Direction::kSent;
  int64_t begin_ns = 0;  // since the beginning of the job
  int64_t length_ns = 0;
  uint64_t bytes = 0;
  uint64_t peak = 0;       // bytes of its largest bin
  double times_mean = 0;   // the largest bin divided by the mean around it
  std::string operations;  // calls in progress on its host: "allreduce x4"
  std::string phase;       // of its host at the burst's beginning
};

// An activity of a process over time, drawn beside the load.
struct LoadSpan {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::string name;
};

struct Load {
  static constexpr size_t kMostBursts = params::load::kMostBursts;
  int64_t bin_ns = 0;     // 0: the recording has no data of the wire
  int64_t column_ns = 0;  // a multiple of it
  int64_t end_ns = 0;     // end of the data, since the beginning
  std::vector<NicLoad> nics;
  std::vector<Microburst> bursts;  // the largest kMostBursts, ordered by their beginnings
  uint64_t bursts_in_all = 0;
  // Calls and phases of the process with the most calls, up to a limit; `calls_of` names it.
  std::string calls_of;
  std::vector<LoadSpan> calls;
  std::vector<LoadSpan> phases;
};

struct LoadOptions {
  int64_t from_ns = INT64_MIN;  // since the beginning, as is `to_ns`
  int64_t to_ns = INT64_MAX;
  size_t most_columns = 400'000;  // summed over all NICs
};

class LoadBuilder {
 public:
  static constexpr double kTimesMean = params::load::kTimesMean;

  explicit LoadBuilder(const LoadOptions& options);
  ~LoadBuilder();

  uint32_t add_process(const Identity& identity);
  // `at_ns`: the event's time since the beginning of the job. Events of different processes come
  // mixed, in order of these times; an event up to a second late is still counted correctly.
  // `writer`: the endpoint of the process that recorded the event.
  void add(uint32_t process, const events::AnyEvent& event, uint32_t writer, int64_t at_ns);
  Load finish();
  // What came since the last call, for one that watches a job: as finish() returns it, but without
  // calls and phases. The bins of the 5 ms or so before `until_ns` belong to the next one, since
  // what is a microburst depends on the bins around it; microbursts are those of the whole job.
  Load take(int64_t until_ns);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::insight
