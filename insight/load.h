// Load: what each NIC of a job put on the wire and took from it over time, and its microbursts:
// short spans in which it carried much more than around them (Zhang et al., IMC 2017, look for
// them in switches). Made in one pass over all processes' events in the order of time; memory is
// bounded: columns get wider where a job is long.
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
#include "insight/party.h"

namespace heddle::insight {

struct LoadColumn {
  int64_t index = 0;   // it begins at this multiple of Load::column_ns
  uint64_t bytes = 0;  // on the wire
  uint64_t peak = 0;   // of its largest bin
};

struct NicLoad {
  std::string host;
  std::string name;  // of the device, else its address; empty: any NIC of the host
  BitsPerSec rate;   // of its link; zero: not known
  // By events::Direction.
  std::array<std::vector<LoadColumn>, 2> columns;
  std::array<uint64_t, 2> bytes{};
  std::array<uint64_t, 2> peak{};  // of all bins
};

// A run of bins in each of which a NIC carried at least kTimesMean of its mean over the 10 ms
// around, and of which the largest is at least a quarter of what its link takes, or of the NIC's
// largest where the rate is not known.
struct Microburst {
  uint32_t nic = 0;
  events::Direction direction = events::Direction::kSent;
  int64_t begin_ns = 0;  // since the beginning
  int64_t length_ns = 0;
  uint64_t bytes = 0;
  uint64_t peak = 0;       // bytes of its largest bin
  double times_mean = 0;   // that bin beside the mean around
  std::string operations;  // calls that were under way on its host: "allreduce x4"
  std::string phase;       // that its host was in
};

// Something that a process did for a while, for those who look at the load beside it.
struct LoadSpan {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::string name;
};

struct Load {
  static constexpr size_t kMostBursts = 500;
  int64_t bin_ns = 0;     // 0: nothing was told of the wire
  int64_t column_ns = 0;  // a multiple of it
  int64_t end_ns = 0;     // of what there is, since the beginning
  std::vector<NicLoad> nics;
  std::vector<Microburst> bursts;  // the largest kMostBursts, in the order of their beginnings
  uint64_t bursts_in_all = 0;
  // Of the process that called most, by rank: calls and phases, as many as there is room for.
  std::string told_by;
  std::vector<LoadSpan> calls;
  std::vector<LoadSpan> phases;
};

struct LoadOptions {
  int64_t from_ns = INT64_MIN;  // since the beginning
  int64_t to_ns = INT64_MAX;
  size_t most_columns = 400'000;  // over all NICs
};

class LoadBuilder {
 public:
  static constexpr double kTimesMean = 4;

  explicit LoadBuilder(const LoadOptions& options);
  ~LoadBuilder();

  uint32_t add_process(const Identity& identity);
  // `at_ns`: the event's time, since the beginning of the job. Processes' events come mixed, in the
  // order of these times; what comes up to a second late is still counted right. `writer`: which
  // endpoint of the process tells it.
  void add(uint32_t process, const events::AnyEvent& event, uint32_t writer, int64_t at_ns);
  Load finish();

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::insight
