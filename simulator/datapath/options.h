// The options of a simulated datapath, and the observers that it notifies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "datapath/datapath.h"
#include "simulator/chunk_sender.h"
#include "simulator/packet.h"
#include "transport/endpoint.h"

namespace heddle::simulator {

struct SimDatapathOptions {
  NicId nic = 0;
  std::vector<NicId> further_nics;  // after `nic`; chunks use the first NIC only
  uint16_t port = 4791;
  uint16_t max_paths = 64;
  Bytes receive_capacity = {212'992};  // limit of the receive queue; further datagrams are dropped
  bool coalesces = true;               // returns consecutive datagrams as runs, like GRO
  Nanos coalesces_within = micros(20);
  bool predicts = true;
  bool scribbles =
      true;  // a wrong prediction leaves garbage in its place, like a scattered receive
  bool ecn = true;
  bool timestamps = true;
  bool drops_gso_bursts = false;  // the interface drops bursts of several segments
  Nanos clock_offset;             // this host's clock minus the network's
  // See engine/known_routes.h: asked again after routes have changed; empty: there is no plan.
  std::function<std::vector<transport::PlannedShare>(const transport::Address& peer)> shares_of;
  std::function<uint32_t()> plan_changes;  // how often it answers otherwise; empty: never

  // The placed-chunk shape. The NIC writes even if its process gets no turns.
  uint16_t chunk_paths = 0;  // 0: datagrams only; with max_paths at most 256
  uint32_t chunk_bytes = transport::kMaxChunkBytes;
  ChunkSenderOptions chunks;
  uint32_t chunk_events = 1'024;   // event queue limit; a chunk without room for its event is lost
  Nanos fence_takes = micros(10);  // until then older writes still land
};

// Notified of input, errors, and room in a NIC that was full.
class Wakeup {
 public:
  virtual ~Wakeup() = default;
  virtual void handle_ready() = 0;
};

// Notified of every write to memory registered with a datapath.
class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  // `copied`: by place(); otherwise by a prediction, right or wrong, or by a remote NIC.
  virtual void handle_write(const transport::Payload& range, bool copied) = 0;
};

// Notified of every encrypted packet before it leaves.
class EncryptionObserver {
 public:
  virtual ~EncryptionObserver() = default;
  virtual void handle_encryption(const transport::PacketKey& key,
                                 std::span<const std::byte> header) = 0;
};

// Notified when the driver calls the datapath and when the call returns: the time between two calls
// belongs to the driver and the endpoint.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void handle_call(bool inside) = 0;
};

}  // namespace heddle::simulator
