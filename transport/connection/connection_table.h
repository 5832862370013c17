// ConnectionTable: finds an endpoint's connections by local id, by the peer's handshake, and by
// pending output or an expired timeout. An id consists of a generation, a slot and the engine
// (engine_share.h), so the id of a closed connection never names a new one.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "transport/connection/connection.h"
#include "transport/connection/timer_heap.h"

namespace heddle::transport {

class ConnectionTable {
 public:
  ConnectionTable(Shared& shared, uint32_t limit);

  // Null when the limit is reached, by this engine or by all together.
  Connection* add(const Address& peer);
  // Null for an id that is not (any more) one.
  Connection* find(ConnectionId id);
  // The same by what packets call it.
  Connection* find_named(WireId id);
  // The same by what packets to its peer call it. Peers choose that: of several with one name, the
  // first is found.
  Connection* find_by_peers_name(WireId id);
  // The peer has said what packets to it call the connection.
  void note_peers_name(const Connection& connection);
  // The connection that this peer's init made; null: none.
  Connection* find_accepted(const Address& peer, uint32_t peer_connection);
  struct Accepted {
    ConnectionId id = 0;
    uint32_t charge = 0;  // bytes that its peer may make it hold
  };
  void note_accepted(const Address& peer, uint32_t peer_connection, const Accepted& accepted);
  void remove(Connection& connection);

  // It may have something to send, or its timer may have changed: it is looked at by next_ready().
  void touch(Connection& connection);
  // The next that was touched, taken out; null: none.
  Connection* next_ready();
  bool has_ready() const { return !ready_.empty(); }
  // next_ready() returned it; it is the next one again.
  void put_back(Connection& connection);
  void update_timer(Connection& connection);

  Nanos next_timeout() const { return ready_.empty() ? timers_.next() : Nanos{}; }
  // One whose time has come, its timer taken out; null: none.
  Connection* next_due(Nanos now);

  template <typename Visit>
  void for_each(Visit visit) {
    for (std::unique_ptr<Connection>& connection : slots_) {
      if (connection) visit(*connection);
    }
  }

  uint32_t size() const { return size_; }
  size_t bytes_held() const;

 private:
  static constexpr uint32_t kSlotBits = 16;  // those of the engine included
  uint32_t slot_of(ConnectionId id) const { return (id & ((1u << kSlotBits) - 1)) >> engine_bits_; }
  WireId draw_wire_id();

  Shared& shared_;
  const EngineShare engine_;
  const uint32_t engine_bits_;
  const uint32_t limit_;  // of connections of all engines
  const uint32_t most_slots_;
  uint32_t size_ = 0;
  std::vector<std::unique_ptr<Connection>> slots_;
  std::vector<uint16_t> generations_;
  Ring<uint32_t> free_;
  Ring<uint32_t> ready_;
  std::vector<bool> in_ready_;
  TimerHeap timers_;
  std::map<std::pair<Address, uint32_t>, Accepted> accepted_;
  std::unordered_map<WireId, uint32_t> named_;       // slots
  std::unordered_map<WireId, uint32_t> peers_name_;  // slots
};

}  // namespace heddle::transport
