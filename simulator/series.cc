// Bins of links over time: see series.h.
#include "simulator/series.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace heddle::simulator {

namespace {

void add(LinkSpan& sum, const LinkSpan& more) {
  sum.bytes += more.bytes;
  sum.queue_peak = std::max(sum.queue_peak, more.queue_peak);
  sum.drops += more.drops;
  sum.marks += more.marks;
}

void add(RunSpan& sum, const RunSpan& more) {
  sum.acked_bytes += more.acked_bytes;
  sum.segments_sent += more.segments_sent;
  sum.segments_retransmitted += more.segments_retransmitted;
  sum.drops += more.drops;
  sum.marks += more.marks;
}

template <typename Span>
void merge_pairs(std::vector<Span>& bins) {
  for (size_t i = 0; i < bins.size(); ++i) {
    if (i % 2 == 0) {
      bins[i / 2] = bins[i];
    } else {
      add(bins[i / 2], bins[i]);
    }
  }
  bins.resize((bins.size() + 1) / 2);
}

// Counters of a lost connection disappear, so a total may decrease.
uint64_t grown(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

}  // namespace

Series::Series(Network& network, const SeriesOptions& options)
    : network_(network), options_(options) {
  const size_t links = 2 * network.topology().links.size();
  seen_.resize(links);
  whole_.resize(links);
  if (!options_.bin) return;
  CHECK(options_.bin->count >= 0 && options_.most_chosen >= 2);
  bin_ = std::max(*options_.bin, nanos(0));
  if (bin_ == nanos(0)) bin_ = micros(1);
  kept_.resize(links);
  std::iota(kept_.begin(), kept_.end(), 0);
  bins_.resize(links);
}

void Series::sample(Nanos now, const transport::ConnectionStatistics& totals) {
  latest_.clear();
  for (LinkId link = 0; link < whole_.size(); ++link) latest_.push_back(look(link));
  const RunSpan run = look(totals);
  const bool first = !begun_;
  begun_ = true;
  if (first) zero_ = network_.now() - now;
  if (!first && now > sampled_) {
    for (LinkId link = 0; link < whole_.size(); ++link) add(whole_[link], latest_[link]);
    add(whole_run_, run);
    sampled_ = now;
    if (options_.bin) add_bin(latest_, run);
  }
  if (!options_.bin) {
    due_ = Nanos::never();
  } else {
    due_ = bin_ * static_cast<int64_t>(run_bins_.size() + 1);
  }
}

LinkSpan Series::look(LinkId link) {
  const LinkCounters counters = network_.counters(link);
  const uint64_t carried = network_.carried_bytes(link);
  Seen& seen = seen_[link];
  LinkSpan span{.bytes = grown(carried, seen.bytes),
                .queue_peak = network_.take_queue_peak(link),
                .drops = static_cast<uint32_t>(counters.queue_drops - seen.drops),
                .marks = static_cast<uint32_t>(counters.marks - seen.marks)};
  seen = {carried, counters.queue_drops, counters.marks};
  return span;
}

RunSpan Series::look(const transport::ConnectionStatistics& totals) {
  RunSpan run{.acked_bytes = grown(totals.payload_bytes_acked, seen_totals_.payload_bytes_acked),
              .segments_sent = grown(totals.segments_sent, seen_totals_.segments_sent),
              .segments_retransmitted =
                  grown(totals.segments_retransmitted, seen_totals_.segments_retransmitted)};
  for (const LinkSpan& each : latest_) {
    run.drops += each.drops;
    run.marks += each.marks;
  }
  seen_totals_ = totals;
  return run;
}

void Series::add_bin(std::span<const LinkSpan> links, const RunSpan& run) {
  for (size_t i = 0; i < kept_.size(); ++i) bins_[i].push_back(links[kept_[i]]);
  run_bins_.push_back(run);
  while (full() && kept_.size() > kLeastLinks) drop_idle_half();
  // Only an even number of bins is merged, so that every bin but the last has full length.
  const bool chosen = *options_.bin == nanos(0);
  while (run_bins_.size() > 1 && run_bins_.size() % 2 == 0 &&
         (full() || (chosen && run_bins_.size() >= options_.most_chosen))) {
    double_bins();
  }
}

bool Series::full() const {
  const size_t cells = kept_.size() * (run_bins_.size() + 2);
  return 2 * cells * sizeof(LinkSpan) > options_.most.count;  // vectors grow by doubling
}

double Series::part_of_rate(LinkId link, uint64_t bytes) const {
  const Uint128 could = network_.nanobits_possible(link, zero_, zero_ + sampled_);
  return could > 0 ? static_cast<double>(bytes) * 8e9 / static_cast<double>(could) : 0;
}

double Series::part_of_rate(LinkId link, uint64_t bytes, size_t number) const {
  const auto place = static_cast<int64_t>(number);
  const Nanos from = zero_ + bin_ * place;
  const Nanos to = zero_ + std::min(bin_ * (place + 1), sampled_);
  const Uint128 could = network_.nanobits_possible(link, from, to);
  return could > 0 ? static_cast<double>(bytes) * 8e9 / static_cast<double>(could) : 0;
}

uint64_t Series::busyness(LinkId link) const {
  const auto could = static_cast<uint64_t>(
      network_.nanobits_possible(link, zero_, zero_ + sampled_) / 8'000'000'000u);
  const auto part = [](uint64_t of, uint64_t whole) {
    return static_cast<uint64_t>(static_cast<Uint128>(of) * 1'000'000 /
                                 std::max<uint64_t>(whole, 1));
  };
  return std::max(part(whole_[link].bytes, could),
                  part(whole_[link].queue_peak, network_.room(link)));
}

void Series::drop_idle_half() {
  std::vector<size_t> order(kept_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [this](size_t a, size_t b) { return busyness(kept_[a]) > busyness(kept_[b]); });
  order.resize(std::max(kLeastLinks, order.size() / 2));
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    kept_[i] = kept_[order[i]];
    if (order[i] != i) bins_[i] = std::move(bins_[order[i]]);
  }
  kept_.resize(order.size());
  bins_.resize(order.size());
}

void Series::double_bins() {
  for (std::vector<LinkSpan>& bins : bins_) merge_pairs(bins);
  merge_pairs(run_bins_);
  bin_ = 2 * bin_;
}

}  // namespace heddle::simulator
