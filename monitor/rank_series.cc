// See rank_series.h.
#include "monitor/rank_series.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "monitor/params.h"

namespace heddle::monitor {
namespace {

constexpr int kPartsBits = 2;
constexpr int64_t kLongestSpan = int64_t{1} << 50;
constexpr int64_t kLatest = int64_t{1} << 60;

// No figure of a counter is below zero, so a sum of many stays at its bound.
int64_t saturated_sum(int64_t one, int64_t other) {
  int64_t sum = 0;
  return __builtin_add_overflow(one, other, &sum) ? INT64_MAX : sum;
}

}  // namespace

RankFigures& RankFigures::operator+=(const RankFigures& more) {
  calls += more.calls;
  calls_failed += more.calls_failed;
  exposed_ns = saturated_sum(exposed_ns, more.exposed_ns);
  sent_bytes += more.sent_bytes;
  received_bytes += more.received_bytes;
  wire_sent_bytes += more.wire_sent_bytes;
  wire_received_bytes += more.wire_received_bytes;
  lost_segments += more.lost_segments;
  return *this;
}

size_t SpanCounts::bucket_of(int64_t span_ns) {
  const auto value = static_cast<uint64_t>(std::max<int64_t>(span_ns, 0));
  const int octave = std::bit_width(value) - 1;
  if (octave < params::kFirstOctave) return 0;
  const auto part = static_cast<size_t>(value >> (octave - kPartsBits)) & ((1U << kPartsBits) - 1);
  const size_t bucket =
      (static_cast<size_t>(octave - params::kFirstOctave) << kPartsBits) + part + 1;
  return std::min(bucket, kBuckets - 1);
}

int64_t SpanCounts::highest_in(size_t bucket) {
  if (bucket == 0) return (int64_t{1} << params::kFirstOctave) - 1;
  const auto octave = static_cast<int>((bucket - 1) >> kPartsBits) + params::kFirstOctave;
  const auto part = static_cast<int64_t>((bucket - 1) & ((1U << kPartsBits) - 1));
  return ((part + 1 + (1 << kPartsBits)) << (octave - kPartsBits)) - 1;
}

void SpanCounts::add(int64_t span_ns) {
  ++counts_[bucket_of(span_ns)];
  ++total_;
  most_ns_ = std::max(most_ns_, std::clamp<int64_t>(span_ns, 0, kLongestSpan));
}

int64_t SpanCounts::percentile(uint64_t per_mille) const {
  const uint64_t wanted = (total_ * per_mille + 999) / 1000;
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted) return std::min(highest_in(bucket), most_ns_);
  }
  return most_ns_;
}

Spread SpanCounts::spread() const {
  if (total_ == 0) return {};
  return {percentile(500), percentile(990), most_ns_};
}

void RankSeries::add(size_t process, const events::AnyEvent& event, int64_t at_ns) {
  Process& to = processes_[process];
  // What is before the last cut was counted there.
  at_ns = std::clamp(at_ns, std::min(cut_at_ns_, kLatest), kLatest);
  std::visit([&to, at_ns](const auto& each) { on(to, each, at_ns); }, event);
}

void RankSeries::on(Process& process, const events::CallMade& event, int64_t at_ns) {
  if (process.open.size() >= params::kMostOpenCalls) process.open.erase(process.open.begin());
  process.open.push_back({event.communicator, event.call, at_ns});
}

void RankSeries::on(Process& process, const events::CallEnded& event, int64_t at_ns) {
  const auto made =
      std::find_if(process.open.begin(), process.open.end(), [&event](const OpenCall& each) {
        return each.communicator == event.communicator && each.call == event.call;
      });
  ++process.now.calls;
  if (!event.ok) ++process.now.calls_failed;
  if (made == process.open.end()) return;
  process.calls.add(at_ns - made->at_ns);
  process.open.erase(made);
}

void RankSeries::count_wait(Process& process, int64_t until_ns) {
  if (process.waits == 0 || until_ns <= process.waited_since_ns) return;
  process.now.exposed_ns =
      saturated_sum(process.now.exposed_ns, until_ns - process.waited_since_ns);
  process.waited_since_ns = until_ns;
}

void RankSeries::on(Process& process, const events::WaitBegun& /*event*/, int64_t at_ns) {
  if (process.waits++ == 0) process.waited_since_ns = at_ns;
}

void RankSeries::on(Process& process, const events::WaitEnded& /*event*/, int64_t at_ns) {
  if (process.waits == 0) return;
  count_wait(process, at_ns);
  --process.waits;
}

void RankSeries::on(Process& process, const events::MessageCompleted& event, int64_t /*at_ns*/) {
  const bool sent = event.direction == events::Direction::kSent;
  (sent ? process.now.sent_bytes : process.now.received_bytes) += event.bytes;
  if (sent && event.since_posted.count > 0) process.messages.add(event.since_posted.count);
}

void RankSeries::on(Process& process, const events::SharedMessageCompleted& event,
                    int64_t /*at_ns*/) {
  const bool sent = event.direction == events::Direction::kSent;
  (sent ? process.now.sent_bytes : process.now.received_bytes) += event.bytes;
}

void RankSeries::on(Process& process, const events::ProxyOp& event, int64_t /*at_ns*/) {
  const bool sent = event.direction == events::Direction::kSent;
  (sent ? process.now.sent_bytes : process.now.received_bytes) += event.bytes;
}

void RankSeries::on(Process& process, const events::WireBin& event, int64_t /*at_ns*/) {
  const bool sent = event.direction == events::Direction::kSent;
  (sent ? process.now.wire_sent_bytes : process.now.wire_received_bytes) += event.bytes;
}

void RankSeries::on(Process& process, const events::BurstLost& event, int64_t /*at_ns*/) {
  process.now.lost_segments += event.segments;
}

void RankSeries::forget_open(size_t process) {
  processes_[process].open.clear();
  processes_[process].waits = 0;
}

SeriesInterval RankSeries::cut(int64_t now_ns) {
  now_ns = std::min(now_ns, kLatest);
  SeriesInterval made{.from_ns = cut_at_ns_, .until_ns = std::max(cut_at_ns_, now_ns)};
  for (Process& process : processes_) {
    count_wait(process, made.until_ns);
    process.recent_calls = process.calls.spread();
    made.processes.push_back({process.now, process.recent_calls, process.messages.spread()});
    process.before += std::exchange(process.now, {});
    process.calls.clear();
    process.messages.clear();
  }
  cut_at_ns_ = made.until_ns;
  return made;
}

RankFigures RankSeries::total(size_t process) const {
  RankFigures sum = processes_[process].before;
  return sum += processes_[process].now;
}

}  // namespace heddle::monitor
