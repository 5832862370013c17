// RemoteWrites: the placed-chunk shape of a simulated datapath. Chunks are split into packets of an
// RDMA MTU, whose payload the NIC reads as they leave; they land piece by piece in the receiver's
// memory without its process, and are reported by events. A delayed piece lands late.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "datapath/datapath.h"
#include "simulator/chunk_receiver.h"
#include "simulator/chunk_sender.h"
#include "simulator/datapath/host_memory.h"
#include "simulator/datapath/options.h"
#include "simulator/network.h"

namespace heddle::simulator {

class RemoteWrites final : private Agent, private ChunkFates {
 public:
  // All must outlive it. `wakeup` is notified of events.
  RemoteWrites(Network& network, const SimDatapathOptions& options, HostMemory& memory,
               datapath::DatapathStatistics& statistics, Wakeup& wakeup);
  ~RemoteWrites() override;
  RemoteWrites(const RemoteWrites&) = delete;
  RemoteWrites& operator=(const RemoteWrites&) = delete;

  // Names registered memory to peers; empty: it is not registered, or the shape is off.
  transport::MemoryToken token(transport::RegionId region) const;

  // --- the sender ---
  void send(const transport::TxBurst& burst, uint16_t from_port);
  // See Port.
  bool handle_departure(PacketId packet);
  void handle_ack(const Packet& ack) { sender_.handle_ack(ack); }
  void recall(const transport::RecallRequest& request) { sender_.recall(request); }

  // --- the receiver ---
  void admit(const transport::WriterAdmission& peer) { receiver_.admit(peer); }
  // Takes ownership of the packet.
  void handle_write(PacketId packet);
  void fence(const transport::FenceRequest& request);

  bool any_event() const { return !events_.empty(); }
  transport::NicEvent take_event() { return events_.pop_front(); }

 private:
  struct PendingFence {
    Nanos at;
    transport::FenceRequest request;
  };

  void land(const Packet& packet);
  bool write_piece(const Packet& packet);
  void acknowledge(const Packet& packet, bool gap);
  void handle_sent(const ChunkFate& fate) override;
  void run(Nanos now) override;
  void push_event(const transport::NicEvent& event);

  Network& network_;
  const SimDatapathOptions& options_;
  HostMemory& memory_;
  datapath::DatapathStatistics& statistics_;
  Wakeup& wakeup_;
  const uint32_t mtu_bytes_;
  ChunkSender sender_;
  ChunkReceiver receiver_;
  Ring<transport::NicEvent> events_;
  Ring<PendingFence> fences_;
  AgentId agent_;
  std::vector<PacketId> pieces_;  // scratch of send()
};

}  // namespace heddle::simulator
