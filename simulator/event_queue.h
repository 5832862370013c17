// EventQueue: what will happen, ordered by time and, at equal times, by when it was scheduled.
// A 4-ary heap of small plain entries; it allocates only while it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"

namespace heddle::simulator {

enum class EventKind : uint32_t {
  kLink,    // the first packet on link `subject` reaches its end
  kPacket,  // packet `subject` reaches its node after being held back
  kAgent,   // agent `subject` asked to be run
  kRoom,    // NIC `subject` may have room for those that wait for it
  kChange,  // change `subject` of the topology's script happens
};

struct Event {
  Nanos at;
  uint64_t order = 0;
  EventKind kind = EventKind::kAgent;
  uint32_t subject = 0;
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  // The time of the next event; never() if there is none.
  Nanos next_at() const { return heap_.empty() ? Nanos::never() : heap_.front().at; }

  void push(Nanos at, EventKind kind, uint32_t subject);
  Event pop();

 private:
  std::vector<Event> heap_;
  uint64_t pushed_ = 0;
};

}  // namespace heddle::simulator
