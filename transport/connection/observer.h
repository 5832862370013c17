// Observer: what the transport reports about itself: events for a sink, and the endpoint's
// counters.
#pragma once

#include "events/events.h"
#include "transport/endpoint.h"

namespace heddle::transport {

class Observer {
 public:
  Observer(events::Sink* sink, Statistics& statistics)
      : sink_(sink),
        wanted_(sink == nullptr ? events::KindSet() : sink->wanted()),
        statistics_(statistics) {}

  // For events that cost something to fill in.
  bool wants(events::EventKind kind) const { return wanted_.has(kind); }

  template <typename Event>
  void emit(const Event& event) const {
    if (wanted_.has(Event::kKind)) sink_->on(event);
  }

  void drop(Nanos now, ConnectionId connection, events::DropReason reason) const {
    ++statistics_.datagrams_dropped;
    ++statistics_.drops_by_reason[static_cast<size_t>(reason)];
    emit(events::SegmentDropped{now, connection, reason});
  }

  void step(Nanos now, ConnectionId connection, uint16_t path, events::RecoveryStep step) const {
    ++statistics_.recovery_by_step[static_cast<size_t>(step)];
    emit(events::Recovery{now, connection, path, step});
  }

  Statistics& statistics() const { return statistics_; }

 private:
  events::Sink* sink_;  // null: no event is wanted
  events::KindSet wanted_;
  Statistics& statistics_;
};

}  // namespace heddle::transport
