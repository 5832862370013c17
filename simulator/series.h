// Series: what each direction of each link carried and how long its queue was, over time. It looks
// at the links' counters between events and asks nothing of anybody, so a run with it is the run
// without it. Memory is bounded: there are bins of so many links, and so many of them, as fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "simulator/network.h"
#include "transport/statistics.h"

namespace heddle::simulator {

struct SeriesOptions {
  // Without a value there is the whole run alone. Zero: chosen as the run goes on, from 1 us,
  // doubled whenever there would be more than `most_chosen` bins.
  std::optional<Nanos> bin;
  size_t most_chosen = 256;
  Bytes most = mebibytes(64);  // for bins; see links()
};

// What happened on one direction of a link within a span.
struct LinkSpan {
  uint64_t bytes = 0;       // that left, with all framing
  uint64_t queue_peak = 0;  // the most bytes that waited or were being sent
  uint32_t drops = 0;       // packets that found the queue full
  uint32_t marks = 0;
};

// And of all senders and links together.
struct RunSpan {
  uint64_t acked_bytes = 0;  // payload
  uint64_t segments_sent = 0;
  uint64_t segments_repeated = 0;
  uint64_t drops = 0;
  uint64_t marks = 0;
};

class Series {
 public:
  Series(Network& network, const SeriesOptions& options);

  // The run's time at which sample() wants to be called next; first at its time 0.
  Nanos due() const { return due_; }
  // `now`: the run's time, up to which the network has been run; `totals` of all senders. What is
  // sampled before it is due makes a shorter bin, which can only be the last.
  void sample(Nanos now, const transport::ConnectionStatistics& totals);

  // Of the whole run.
  Nanos length() const { return sampled_; }
  const LinkSpan& whole(LinkId link) const { return whole_[link]; }
  const RunSpan& whole_run() const { return whole_run_; }

  // Bins. Where there is no room for more, the half of the links that had the least to do have
  // none any more, down to kLeastLinks; then bins become twice as long.
  static constexpr size_t kLeastLinks = 64;
  Nanos bin() const { return bin_; }
  std::span<const LinkId> links() const { return kept_; }  // with bins, in their order
  std::span<const LinkSpan> bins(size_t kept) const { return bins_[kept]; }
  std::span<const RunSpan> run_bins() const { return run_bins_; }

  // The part of what the link could have carried, at the rates that it had, that `bytes` are: of
  // the whole run, or of what bin `number` is about.
  double part_of_rate(LinkId link, uint64_t bytes) const;
  double part_of_rate(LinkId link, uint64_t bytes, size_t number) const;

  // How busy a link was: the larger of the part of its rate that it carried and the part of its
  // queue that was in use, in millionths.
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
  Nanos zero_;  // of the run, as the network counts
  bool begun_ = false;
  std::vector<Seen> seen_;  // of each link, at the latest sample
  transport::ConnectionStatistics seen_totals_;
  std::vector<LinkSpan> whole_;  // of each link
  RunSpan whole_run_;
  std::vector<LinkId> kept_;
  std::vector<std::vector<LinkSpan>> bins_;  // of each kept link
  std::vector<RunSpan> run_bins_;
  std::vector<LinkSpan> latest_;  // scratch of sample()
};

}  // namespace heddle::simulator
