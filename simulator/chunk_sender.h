// ChunkSender: the requester's half of the queue pairs of a NIC that writes to remote memory. It
// numbers packets, remembers where the payload of each chunk lies until it has left, and may hold a
// queue pair back. A reliable one keeps its packets until they are acknowledged, retransmits after
// a gap or a timeout, and fails after `tries` timeouts; its queue pair then stays failed until a
// new epoch.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "simulator/network.h"
#include "simulator/packet.h"
#include "transport/payload.h"
#include "transport/placed.h"

namespace heddle::simulator {

struct ChunkSenderOptions {
  bool reliable = false;
  Nanos timeout = millis(4);  // without progress: retransmits everything
  uint32_t tries = 7;         // retransmissions before it fails
  // One chunk in `stall_every` of a queue pair, with all behind it, stays in the NIC for
  // `stall_for`; 0: none. So queue pairs stall that wait to be connected, or for their priority.
  uint32_t stall_every = 0;
  Nanos stall_for;
};

// A chunk as it was posted.
struct ChunkSource {
  uint16_t path = 0;  // index among chunk paths
  uint64_t number = 0;
  transport::Payload payload;
  uint32_t generation = 0;  // of the payload's region
};

// The outcome of a reliable write.
struct ChunkFate {
  uint32_t connection = 0;  // local
  uint16_t path = 0;
  uint32_t epoch = 0;
  uint64_t number = 0;
  bool ok = false;
};

class ChunkFates {
 public:
  virtual ~ChunkFates() = default;
  virtual void handle_sent(const ChunkFate& fate) = 0;
};

class ChunkSender : private Agent {
 public:
  ChunkSender(Network& network, const ChunkSenderOptions& options, ChunkFates& fates);
  ~ChunkSender() override;
  ChunkSender(const ChunkSender&) = delete;
  ChunkSender& operator=(const ChunkSender&) = delete;

  // Sends the pieces of one chunk and sets their numbers.
  void send(const ChunkSource& source, std::span<const PacketId> pieces);
  void handle_ack(const Packet& ack);
  // The chunk that a leaving piece belongs to; null: it has ended.
  const ChunkSource* source_of(const Packet& piece);
  // See Datapath::recall().
  void recall(const transport::RecallRequest& request);

 private:
  struct Chunk {
    uint32_t chunk = 0;
    ChunkSource source;
    std::vector<PacketId> copies;  // reliable: to be retransmitted
    std::vector<PacketId> held;    // not sent yet
  };
  struct QueuePair {
    uint32_t epoch = 0;
    uint32_t next_chunk = 0;
    bool failed = false;
    uint32_t tries = 0;
    Nanos due = Nanos::never();
    Nanos held_until;  // zero: not held back
    // Reliable: not acknowledged; else from the one that left last on.
    std::deque<Chunk> outstanding;
  };
  using Key = std::pair<uint32_t, uint16_t>;  // local connection, path

  void run(Nanos now) override;
  void recall(const Key& key, QueuePair& pair);
  void release(QueuePair& pair);
  void send_again(QueuePair& pair);
  void fail(const Key& key, QueuePair& pair);
  void drop_packets(Chunk& chunk);
  void arm(QueuePair& pair);
  bool held_back(const QueuePair& pair) const { return pair.held_until > network_.now(); }

  Network& network_;
  ChunkSenderOptions options_;
  ChunkFates& fates_;
  AgentId agent_;
  std::map<Key, QueuePair> pairs_;
};

}  // namespace heddle::simulator
