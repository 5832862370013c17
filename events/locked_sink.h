// LockedSink: passes the events of several threads to one sink, one at a time. Threads have read
// their clocks at different moments, so an event may get the time of the one before it: times never
// go backwards. The sink must outlive it.
#pragma once

#include <algorithm>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "events/events.h"

namespace heddle::events {

class LockedSink final : public EachSink<LockedSink> {
 public:
  explicit LockedSink(Sink& sink) : sink_(sink) {}

  KindSet wanted() const override { return sink_.wanted(); }

  template <typename Event>
  void on_any(const Event& event) {
    const OwnMutex::Lock lock = mutex_.enter();
    if (!lock.owns_lock()) return;  // a child of fork()
    latest_ = std::max(latest_, event.time);
    Event timed = event;
    timed.time = latest_;
    // The span that it reports stays where it is.
    if constexpr (requires { timed.ago; }) timed.ago += latest_ - event.time;
    sink_.on(timed);
  }

 private:
  Sink& sink_;
  OwnMutex mutex_;
  Nanos latest_;
};

}  // namespace heddle::events
