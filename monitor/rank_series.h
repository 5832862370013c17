// RankSeries: what each rank of a watched job did from one point in time to the next: calls, time
// in which its caller waited, bytes, and how long calls and messages took. Of bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "events/events.h"
#include "monitor/params.h"

namespace heddle::monitor {

struct RankFigures {
  uint64_t calls = 0;  // that ended
  uint64_t calls_failed = 0;
  int64_t exposed_ns = 0;  // its caller waited for communication, and did nothing else
  // Payload of whole messages, those through shared memory too.
  uint64_t sent_bytes = 0;
  uint64_t received_bytes = 0;
  // With all headers and retransmissions.
  uint64_t wire_sent_bytes = 0;
  uint64_t wire_received_bytes = 0;
  uint64_t lost_segments = 0;

  RankFigures& operator+=(const RankFigures& more);
};

// Of spans, ns; percentiles are at most a quarter too high. -1: there was none.
struct Spread {
  int64_t p50_ns = -1;
  int64_t p99_ns = -1;
  int64_t most_ns = -1;
};

// One process's share of an interval.
struct RankInterval {
  RankFigures figures;
  Spread calls;     // from a call to its end
  Spread messages;  // sent ones, from their posting
};

struct SeriesInterval {
  int64_t from_ns = 0;  // since the job's beginning
  int64_t until_ns = 0;
  std::vector<RankInterval> processes;  // by number
};

// Spans in buckets of a quarter of an octave, from 1 us to 1,000 s.
class SpanCounts {
 public:
  void add(int64_t span_ns);
  Spread spread() const;
  void clear() { *this = {}; }

 private:
  static constexpr size_t kBuckets = params::kSpanBuckets;
  static size_t bucket_of(int64_t span_ns);
  static int64_t highest_in(size_t bucket);
  int64_t percentile(uint64_t per_mille) const;

  std::array<uint32_t, kBuckets> counts_{};
  uint64_t total_ = 0;
  int64_t most_ns_ = -1;
};

class RankSeries {
 public:
  void add_process() { processes_.emplace_back(); }
  // `at_ns`: since the job's beginning, whatever a recording claims; of one process in order.
  void add(size_t process, const events::AnyEvent& event, int64_t at_ns);

  // Events of it were missed, or it has ended: what is open may never end, and counts no more.
  void forget_open(size_t process);

  // What was since the last cut, up to now; the next interval begins.
  SeriesInterval cut(int64_t now_ns);
  // Since the watch began, up to the last event.
  RankFigures total(size_t process) const;
  // Of calls, in the interval that was cut last.
  const Spread& recent_calls(size_t process) const { return processes_[process].recent_calls; }

 private:
  struct OpenCall {
    uint64_t communicator = 0;
    uint32_t call = 0;
    int64_t at_ns = 0;
  };
  struct Process {
    RankFigures before;  // of intervals that were cut
    RankFigures now;
    SpanCounts calls;
    SpanCounts messages;
    Spread recent_calls;
    std::vector<OpenCall> open;
    uint32_t waits = 0;
    int64_t waited_since_ns = 0;
  };
  template <typename Event>
  static void on(Process& /*process*/, const Event& /*event*/, int64_t /*at_ns*/) {}
  static void on(Process& process, const events::CallMade& event, int64_t at_ns);
  static void on(Process& process, const events::CallEnded& event, int64_t at_ns);
  static void on(Process& process, const events::WaitBegun& event, int64_t at_ns);
  static void on(Process& process, const events::WaitEnded& event, int64_t at_ns);
  static void on(Process& process, const events::MessageCompleted& event, int64_t at_ns);
  static void on(Process& process, const events::SharedMessageCompleted& event, int64_t at_ns);
  static void on(Process& process, const events::ProxyOp& event, int64_t at_ns);
  static void on(Process& process, const events::WireBin& event, int64_t at_ns);
  static void on(Process& process, const events::BurstLost& event, int64_t at_ns);
  static void count_wait(Process& process, int64_t until_ns);

  std::vector<Process> processes_;
  int64_t cut_at_ns_ = 0;
};

}  // namespace heddle::monitor
