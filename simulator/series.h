// Series: throughput and queue length of each direction of each link over time. It only reads
// counters between events, so it does not affect the run. Memory is bounded by the number of bins
// and of links that have bins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "simulator/network.h"
#include "simulator/params.h"
#include "transport/statistics.h"

namespace heddle::simulator {

struct SeriesOptions {
  // Empty: totals of the whole run only. Zero: chosen during the run, from 1 us, doubled whenever
  // there would be more than `most_chosen` bins.
  std::optional<Nanos> bin;
  size_t most_chosen = 256;
  Bytes most = mebibytes(64);  // for bins; see links()
};

// Counts of one direction of a link within a span.
struct LinkSpan {
  uint64_t bytes = 0;       // sent, framing included
  uint64_t queue_peak = 0;  // maximum of bytes queued or in transmission
  uint32_t drops = 0;       // packets that found the queue full
  uint32_t marks = 0;
};

// Counts of all senders and links together.
struct RunSpan {
  uint64_t acked_bytes = 0;  // payload
  uint64_t segments_sent = 0;
  uint64_t segments_retransmitted = 0;
  uint64_t drops = 0;
  uint64_t marks = 0;
};

class Series {
 public:
  Series(Network& network, const SeriesOptions& options);

  // The run's time at which sample() must be called next; initially 0.
  Nanos due() const { return due_; }
  // `now`: the run's time, to which the network has advanced; `totals`: of all senders. A sample
  // before due() makes a shorter bin, which must be the last.
  void sample(Nanos now, const transport::ConnectionStatistics& totals);

  // Results for the whole run.
  Nanos length() const { return sampled_; }
  const LinkSpan& whole(LinkId link) const { return whole_[link]; }
  const RunSpan& whole_run() const { return whole_run_; }

  // Bins. When memory is full, the half of the links with the least traffic loses its bins, down to
  // kLeastLinks; after that the bins double in length.
  static constexpr size_t kLeastLinks = params::kLeastSeriesLinks;
  Nanos bin() const { return bin_; }
  std::span<const LinkId> links() const { return kept_; }  // links with bins, ascending
  std::span<const LinkSpan> bins(size_t kept) const { return bins_[kept]; }
  std::span<const RunSpan> run_bins() const { return run_bins_; }

  // `bytes` as a fraction of the link's capacity at its rates: over the whole run, or over the span
  // of bin `number`.
  double part_of_rate(LinkId link, uint64_t bytes) const;
  double part_of_rate(LinkId link, uint64_t bytes, size_t number) const;

  // A link's load in millionths: the maximum of its utilization and the used fraction of its queue.
  uint64_t busyness(LinkId link) const;

 private:
  struct Seen {
    uint64_t bytes = 0;
    uint64_t drops = 0;
    uint64_t marks = 0;
  };

  LinkSpan look(LinkId link);
  RunSpan look(const transport::ConnectionStatistics& totals);
  void add_bin(std::span<const LinkSpan> links, const RunSpan& run);
  bool full() const;
  void drop_idle_half();
  void double_bins();

  Network& network_;
  SeriesOptions options_;
  Nanos bin_ = Nanos::never();
  Nanos due_;
  Nanos sampled_;
  Nanos zero_;  // of the run, on the network's clock
  bool begun_ = false;
  std::vector<Seen> seen_;  // per link, at the latest sample
  transport::ConnectionStatistics seen_totals_;
  std::vector<LinkSpan> whole_;  // per link
  RunSpan whole_run_;
  std::vector<LinkId> kept_;
  std::vector<std::vector<LinkSpan>> bins_;  // per kept link
  std::vector<RunSpan> run_bins_;
  std::vector<LinkSpan> latest_;  // scratch of sample()
};

}  // namespace heddle::simulator
