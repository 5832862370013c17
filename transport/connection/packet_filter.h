// PacketFilter: compares the number of a received packet with those that arrived on its path: it is
// new, a duplicate, too old, or impossible. Only new packets are processed; the others are reported
// as dropped.
#pragma once

#include "events/events.h"
#include "transport/connection/parts.h"

namespace heddle::transport {

class PacketFilter {
 public:
  explicit PacketFilter(ConnectionParts& parts) : parts_(parts) {}

  void drop(Nanos now, events::DropReason reason) const {
    parts_.shared.observer.drop(now, parts_.identity.id, reason);
  }
  // Whether packets [low, high] all arrived before, or may have.
  bool is_duplicate(Nanos now, uint16_t path, uint64_t low, uint64_t high);
  // Whether no packet of the peer can have this number. `last`: of a row that begins with it.
  bool is_impossible(Nanos now, const ConnectionHeader& header, uint64_t last);
  // Whether an authenticated control packet is a replay.
  bool is_replay(Nanos now, const ConnectionHeader& header);

 private:
  ConnectionParts& parts_;
};

}  // namespace heddle::transport
