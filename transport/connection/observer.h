// Observer: what the transport tells about itself: events for a sink, and the endpoint's counters.
#pragma once

#include "events/events.h"
#include "transport/endpoint.h"

namespace heddle::transport {

class Observer {
 public:
  Observer(events::Sink* sink, Statistics& statistics) : sink_(sink), statistics_(statistics) {}

  // The sink, or null: for events that cost something to fill in.
  events::Sink* sink() const { return sink_; }

  template <typename Event>
  void emit(const Event& event) const {
    if (sink_ != nullptr) sink_->on(event);
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
  events::Sink* sink_;
  Statistics& statistics_;
};

}  // namespace heddle::transport
