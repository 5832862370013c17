// DataReceiver: takes a burst of data segments that arrived. It drops segments whose numbers are
// not new (PacketFilter), passes the payload to its message (Incoming), and notes what is to be
// acknowledged (AckManager).
#pragma once

#include "transport/connection/packet_filter.h"

namespace heddle::transport {

class DataReceiver {
 public:
  explicit DataReceiver(ConnectionParts& parts) : parts_(parts), filter_(parts) {}

  // Segments whose headers continue each other.
  void handle(Nanos now, const DataBurst& burst);

 private:
  void handle_apart(Nanos now, const DataBurst& burst);

  ConnectionParts& parts_;
  PacketFilter filter_;
};

// Where the next payload probably belongs; false: no guess. See Endpoint::predict().
bool predict_arrival(const ConnectionParts& parts, Prediction& prediction);

}  // namespace heddle::transport
