// Slots, generations and the two queues.
#include "transport/connection/connection_table.h"

#include <algorithm>

#include "transport/connection/params.h"

namespace heddle::transport {

ConnectionTable::ConnectionTable(Shared& shared, uint32_t limit)
    : shared_(shared),
      engine_(shared.options.engine),
      engine_bits_(engine_.bits()),
      limit_(limit),
      most_slots_((1u << (kSlotBits - engine_bits_)) - 1) {}

Connection* ConnectionTable::add(const Address& peer) {
  uint32_t slot = 0;
  if (size_ >= most_slots_ || !shared_.budget->add_connection(limit_)) return nullptr;
  if (!free_.empty()) {
    slot = free_.pop_front();
  } else {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
    generations_.push_back(static_cast<uint16_t>(shared_.random.between(1, UINT16_MAX)));
    in_ready_.push_back(false);
  }
  uint16_t& generation = generations_[slot];
  generation = static_cast<uint16_t>(generation == UINT16_MAX ? 1 : generation + 1);
  const ConnectionId id = uint32_t{generation} << kSlotBits | slot << engine_bits_ | engine_.index;
  WireId wire_id = 0;
  do {
    wire_id = draw_wire_id();
  } while (!named_.emplace(wire_id, slot).second);
  slots_[slot] = std::make_unique<Connection>(shared_, id, wire_id, peer);
  ++size_;
  return slots_[slot].get();
}

WireId ConnectionTable::draw_wire_id() {
  WireId id = 0;
  while (id == 0) {
    id = shared_.secrets.draw_nonzero(SecretUse::kConnectionId);
    id = (id & ~WireId{engine_.mask()}) | engine_.index;
  }
  return id;
}

Connection* ConnectionTable::find(ConnectionId id) {
  const uint32_t slot = slot_of(id);
  if (slot >= slots_.size() || !slots_[slot] || slots_[slot]->id() != id) return nullptr;
  return slots_[slot].get();
}

Connection* ConnectionTable::find_named(WireId id) {
  const auto found = named_.find(id);
  return found == named_.end() ? nullptr : slots_[found->second].get();
}

Connection* ConnectionTable::find_by_peers_name(WireId id) {
  const auto found = peers_name_.find(id);
  return found == peers_name_.end() ? nullptr : slots_[found->second].get();
}

void ConnectionTable::note_peers_name(const Connection& connection) {
  if (connection.peer_wire_id() == 0) return;
  peers_name_.emplace(connection.peer_wire_id(), slot_of(connection.id()));
}

Connection* ConnectionTable::find_accepted(const Address& peer, uint32_t peer_connection) {
  const auto found = accepted_.find({peer, peer_connection});
  return found == accepted_.end() ? nullptr : find(found->second.id);
}

void ConnectionTable::note_accepted(const Address& peer, uint32_t peer_connection,
                                    const Accepted& accepted) {
  Accepted& known = accepted_[{peer, peer_connection}];
  shared_.budget->discharge(known.charge);
  shared_.budget->charge(accepted.charge);
  known = accepted;
}

void ConnectionTable::remove(Connection& connection) {
  const uint32_t slot = slot_of(connection.id());
  const auto found = accepted_.find({connection.made_with(), connection.peer_id()});
  if (found != accepted_.end() && found->second.id == connection.id()) {
    shared_.budget->discharge(found->second.charge);
    accepted_.erase(found);
  }
  named_.erase(connection.wire_id());
  const auto peers = peers_name_.find(connection.peer_wire_id());
  if (peers != peers_name_.end() && peers->second == slot) peers_name_.erase(peers);
  timers_.set(slot, Nanos::never());
  slots_[slot].reset();
  free_.push_back(slot);
  --size_;
  shared_.budget->remove_connection();
}

void ConnectionTable::touch(Connection& connection) {
  const uint32_t slot = slot_of(connection.id());
  if (in_ready_[slot]) return;
  in_ready_[slot] = true;
  ready_.push_back(slot);
}

Connection* ConnectionTable::next_ready() {
  while (!ready_.empty()) {
    const uint32_t slot = ready_.pop_front();
    in_ready_[slot] = false;
    if (slots_[slot]) return slots_[slot].get();
  }
  return nullptr;
}

void ConnectionTable::put_back(Connection& connection) {
  const uint32_t slot = slot_of(connection.id());
  if (in_ready_[slot]) return;
  in_ready_[slot] = true;
  ready_.push_front(slot);
}

void ConnectionTable::update_timer(Connection& connection) {
  timers_.set(slot_of(connection.id()), connection.next_timeout());
}

Connection* ConnectionTable::next_due(Nanos now) {
  if (timers_.empty() || timers_.next() > now) return nullptr;
  const uint32_t slot = timers_.next_slot();
  timers_.set(slot, Nanos::never());
  return slots_[slot].get();
}

size_t ConnectionTable::bytes_held() const {
  size_t total = slots_.capacity() * sizeof(slots_[0]) + timers_.bytes_held() +
                 (free_.capacity() + ready_.capacity()) * sizeof(uint32_t) +
                 accepted_.size() * (sizeof(Address) + 64) +
                 (named_.size() + peers_name_.size()) * params::stranger::kNamedBytes;
  for (const std::unique_ptr<Connection>& connection : slots_) {
    if (connection) total += connection->bytes_held();
  }
  return total;
}

}  // namespace heddle::transport
