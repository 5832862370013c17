// Mesh, second part: after a failure. Connections between ranks that live are kept: when both sides
// have withdrawn their calls, each posts the messages that it is short of, so that the next ones
// meet, and another communicator uses the connection.
#include <algorithm>

#include "collectives/execution/mesh.h"

namespace heddle::collectives {

// Nothing may read this process's memory after its calls have ended.
void Mesh::shut_memory() {
  for (const uint32_t rank : connected_) {
    peer_links_.shut(rank);
  }
}

void Mesh::begin_keeping() {
  keeping_ = true;
  const std::vector<uint32_t> ranks = connected_;
  for (const uint32_t rank : ranks) offer_to_keep(rank);
}

void Mesh::offer_to_keep(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (peer.kept.offered() || peer.gone || peer.connection == 0) return;
  Link* const link = peer_links_.link(rank);
  const StreamCounts* const counts = link == nullptr ? nullptr : link->counts();
  if (counts != nullptr) peer.kept.set_posted(*counts);
  const auto write = [&peer](std::byte* bytes) { return write_kept(peer.kept.posted(), bytes); };
  if (send_control(rank, write)) peer.kept.note_offered();
  align(rank);
}

void Mesh::handle_kept(uint32_t rank, const StreamCounts& posted) {
  peers_[rank].kept.note_theirs(posted);
  align(rank);
}

void Mesh::align(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (peer.gone || !peer.kept.aligns()) return;
  if (!peer.kept.align(endpoint_, peer.connection)) drop(rank);
}

// The peer uses the connection for its next communicator, which it is first to know. What follows
// is for that. Only the higher rank connects, and only when both sides are ready.
void Mesh::handle_hello(uint32_t rank, const Hello& hello) {
  if (rank < members_.rank || !peers_[rank].kept.aligned()) return drop(rank);
  peers_[rank].kept.note_hello(hello);
}

bool Mesh::kept(uint32_t rank) const { return peers_[rank].kept.aligned() && !peers_[rank].gone; }

void Mesh::release(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!kept(rank) || (!peer.receive && !peer.kept.hello())) return;
  links_.keep({peer.connection, peer.receive, peer.slot, peer.kept.hello()},
              members_.addresses[rank], rank > members_.rank);
  std::erase(connected_, rank);
  peer_links_.drop(rank);
  peer = {};
  peer.gone = true;
}

// Its connection cannot be kept, or another rank has found out that it is gone.
void Mesh::drop(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (peer.gone) return;
  if (peer.connection != 0) endpoint_.abort(peer.connection);
  if (peer.receive) links_.return_later(peer.receive, peer.slot);
  peer.receive = {};
  peer.gone = true;
  absent_.forget(rank);
  gone_.push_back(rank);
}

void Mesh::drop_connection(engine::Connection connection) {
  for (const uint32_t rank : connected_) {
    if (peers_[rank].connection == connection && !peers_[rank].gone) return drop(rank);
  }
  endpoint_.abort(connection);
}

// --- the agreement on who is left ---

void Mesh::expect(uint32_t rank) {
  if (peers_[rank].gone || peers_[rank].connection != 0) return;
  if (rank > members_.rank) return absent_.await(rank);
  if (!connect(rank)) drop(rank);
}

bool Mesh::send_membership(uint32_t rank, const MembershipMessage& message) {
  return send_report(rank, [this, &message](std::byte* bytes) {
    return write_membership(members_.communicator, message, bytes);
  });
}

}  // namespace heddle::collectives
