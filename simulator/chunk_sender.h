// ChunkSender: the requester's half of the queue pairs of a NIC that writes to remote memory. An
// unreliable one only numbers its packets. A reliable one keeps copies until they are acknowledged,
// retransmits after a gap or a timeout, and fails after `tries` timeouts; its queue pair then stays
// failed until a new epoch.
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

namespace heddle::simulator {

struct ChunkSenderOptions {
  bool reliable = false;
  Nanos timeout = millis(4);  // without progress: retransmits everything
  uint32_t tries = 7;         // retransmissions before it fails
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

  // Sends the pieces of one chunk and sets their numbers. `path` is the index among chunk paths.
  void send(uint16_t path, uint64_t number, std::span<const PacketId> pieces);
  void handle_ack(const Packet& ack);

 private:
  struct Chunk {
    uint32_t chunk = 0;
    uint64_t number = 0;
    std::vector<PacketId> copies;
  };
  struct QueuePair {
    uint32_t epoch = 0;
    uint32_t next_chunk = 0;
    bool failed = false;
    uint32_t tries = 0;
    Nanos due = Nanos::never();
    std::deque<Chunk> outstanding;
  };
  using Key = std::pair<uint32_t, uint16_t>;  // local connection, path

  void run(Nanos now) override;
  void send_again(QueuePair& pair);
  void fail(const Key& key, QueuePair& pair);
  void drop_copies(Chunk& chunk);
  void arm(QueuePair& pair);

  Network& network_;
  ChunkSenderOptions options_;
  ChunkFates& fates_;
  AgentId agent_;
  std::map<Key, QueuePair> pairs_;
};

}  // namespace heddle::simulator
