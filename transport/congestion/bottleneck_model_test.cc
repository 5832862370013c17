// The model itself: an event queue, one link, and flows that send whatever their window and pacer
// allow.
#include "transport/congestion/bottleneck_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <queue>

#include "base/check.h"
#include "base/random.h"
#include "transport/congestion/pacer.h"
#include "transport/congestion/registry.h"
#include "transport/path/round_trip.h"

namespace heddle::transport::model {
namespace {

enum class EventKind : uint8_t { kWake, kReturn, kLossFound };

struct Event {
  Nanos at;
  uint64_t order = 0;  // ties are served in the order in which they were made
  EventKind kind = EventKind::kWake;
  uint32_t flow = 0;
  Nanos sent_at;
  bool marked = false;
  bool ends_burst = false;

  bool operator>(const Event& other) const {
    return at != other.at ? at > other.at : order > other.order;
  }
};

struct Flow {
  std::unique_ptr<Controller> controller;
  Pacer pacer;
  RoundTrip round_trip;
  Nanos stop;
  Nanos wake_at = Nanos::never();  // the earliest wake-up that is pending
  Nanos last_return;
  uint64_t in_flight = 0;
  AckSample pending;  // what returned since the last acknowledgement was handed on
  FlowResult result;
};

class Bottleneck {
 public:
  Bottleneck(const BottleneckOptions& options, const std::vector<FlowOptions>& flows,
             Nanos measure_from, Nanos end)
      : options_(options),
        measure_from_(measure_from),
        end_(end),
        segment_time_(transmit_time(options.segment, options.rate)),
        random_(options.seed) {
    for (const FlowOptions& flow : flows) {
      const uint32_t index = static_cast<uint32_t>(flows_.size());
      flows_.emplace_back();
      flows_.back().controller =
          make_controller(flow.controller, {.segment = options.segment,
                                            .initial_window = {10 * options.segment.count},
                                            .limit = flow.limit});
      CHECK(flows_.back().controller != nullptr);
      flows_.back().stop = flow.stop;
      wake(index, flow.start);
    }
  }

  BottleneckResult run() {
    while (!events_.empty() && events_.top().at < end_) {
      const Event event = events_.top();
      events_.pop();
      serve(event);
    }
    return result();
  }

 private:
  void serve(const Event& event) {
    Flow& flow = flows_[event.flow];
    switch (event.kind) {
      case EventKind::kWake:
        if (event.at == flow.wake_at) flow.wake_at = Nanos::never();
        break;
      case EventKind::kReturn:
        take_return(flow, event);
        break;
      case EventKind::kLossFound:
        acknowledge(flow, event.at);
        flow.in_flight -= options_.segment.count;
        flow.controller->on_loss(event.at, {.sent_at = event.sent_at,
                                            .lost = options_.segment,
                                            .in_flight = {flow.in_flight},
                                            .smoothed_rtt = flow.round_trip.smoothed()});
        break;
    }
    if (event.at < flow.stop) send(event.flow, event.at);
  }

  void take_return(Flow& flow, const Event& event) {
    flow.round_trip.add(event.at, event.at - event.sent_at);
    flow.pending.sent_at = event.sent_at;
    flow.pending.rtt = event.at - event.sent_at;
    flow.pending.acked.count += options_.segment.count;
    if (event.marked) flow.pending.marked.count += options_.segment.count;
    if (event.at >= measure_from_) flow.result.delivered_bytes += options_.segment.count;
    if (event.ends_burst) acknowledge(flow, event.at);
  }

  // A receiver acknowledges what it took from its socket at once: here, a burst.
  void acknowledge(Flow& flow, Nanos now) {
    if (flow.pending.acked.count == 0) return;
    flow.pending.min_rtt = flow.round_trip.minimum();
    flow.pending.smoothed_rtt = flow.round_trip.smoothed();
    flow.pending.in_flight = {flow.in_flight};
    flow.in_flight -= flow.pending.acked.count;
    flow.controller->on_ack(now, flow.pending);
    flow.pending = {};
  }

  void send(uint32_t index, Nanos now) {
    Flow& flow = flows_[index];
    const uint64_t segment = options_.segment.count;
    for (;;) {
      const uint64_t window = flow.controller->window().count;
      const uint64_t room = window > flow.in_flight ? (window - flow.in_flight) / segment : 0;
      if (room == 0) return;
      const BitsPerSec rate = flow.controller->pacing_rate();
      const uint64_t allowed = std::min(flow.pacer.allowance(now, rate, options_.segment).count,
                                        flow.controller->burst_limit().count) /
                               segment;
      if (allowed == 0) return wake(index, flow.pacer.ready_at());
      const uint64_t count = std::min(room, allowed);
      for (uint64_t i = 0; i < count; ++i) enqueue(index, now, i + 1 == count);
      flow.in_flight += count * segment;
      flow.pacer.on_sent(now, {count * segment}, rate);
    }
  }

  void enqueue(uint32_t index, Nanos now, bool ends_burst) {
    Flow& flow = flows_[index];
    const Nanos waits = std::max(free_at_ - now, Nanos{});
    const uint64_t queued = bytes_within(waits, options_.rate).count;
    const bool dropped = queued + options_.segment.count > options_.buffer.count ||
                         random_.chance_per_million(options_.drop_per_million);
    Event event{.at = {}, .flow = index, .sent_at = now};
    if (dropped) {
      // Found by the gap, when what stood before it in the queue has returned.
      ++flow.result.dropped_segments;
      event.kind = EventKind::kLossFound;
      event.at = std::max(now + waits + segment_time_ + options_.base_rtt, flow.last_return);
      return push(event);
    }
    event.kind = EventKind::kReturn;
    event.marked = queued > options_.mark_above.count;
    event.ends_burst = ends_burst;
    flow.result.marked_segments += event.marked ? 1 : 0;
    free_at_ = now + waits + segment_time_;
    if (now >= measure_from_) {
      queue_sum_ += waits;
      ++queue_samples_;
      longest_queue_ = std::max(longest_queue_, waits);
    }
    const Nanos jitter{
        static_cast<int64_t>(random_.below(static_cast<uint64_t>(options_.jitter.count) + 1))};
    event.at = std::max(free_at_ + options_.base_rtt + jitter, flow.last_return);
    flow.last_return = event.at;
    push(event);
  }

  void wake(uint32_t index, Nanos at) {
    Flow& flow = flows_[index];
    if (flow.wake_at <= at) return;
    flow.wake_at = at;
    push({.at = at, .kind = EventKind::kWake, .flow = index});
  }

  void push(Event event) {
    event.order = next_order_++;
    events_.push(event);
  }

  BottleneckResult result() {
    BottleneckResult result;
    uint64_t delivered = 0;
    for (Flow& flow : flows_) {
      flow.result.window_bytes = flow.controller->window().count;
      delivered += flow.result.delivered_bytes;
      result.flows.push_back(flow.result);
    }
    const uint64_t possible = bytes_within(end_ - measure_from_, options_.rate).count;
    result.utilization = static_cast<double>(delivered) / static_cast<double>(possible);
    if (queue_samples_ > 0) result.mean_queue = queue_sum_ / queue_samples_;
    result.longest_queue = longest_queue_;
    return result;
  }

  BottleneckOptions options_;
  Nanos measure_from_;
  Nanos end_;
  Nanos segment_time_;
  Random random_;
  std::vector<Flow> flows_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t next_order_ = 0;
  Nanos free_at_;  // when the queue will have drained
  Nanos queue_sum_;
  Nanos longest_queue_;
  int64_t queue_samples_ = 0;
};

}  // namespace

double BottleneckResult::jain_index() const {
  double sum = 0;
  double squares = 0;
  for (const FlowResult& flow : flows) {
    const double share = static_cast<double>(flow.delivered_bytes);
    sum += share;
    squares += share * share;
  }
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(flows.size()) * squares);
}

BottleneckResult run_bottleneck(const BottleneckOptions& options,
                                const std::vector<FlowOptions>& flows, Nanos measure_from,
                                Nanos end) {
  return Bottleneck(options, flows, measure_from, end).run();
}

}  // namespace heddle::transport::model
