// Mesh, third part: after a failure. Connections between ranks that live are kept: when both sides
// have withdrawn their calls, each posts the messages that it is short of, so that the next ones
// meet, and another communicator uses the connection.
#include <algorithm>

#include "collectives/execution/mesh.h"

namespace heddle::collectives {

// Nothing may read this process's memory after its calls have ended.
void Mesh::shut_memory() {
  for (const uint32_t rank : connected_) {
    if (peers_[rank].shared != nullptr) peers_[rank].shared->shut();
  }
}

void Mesh::begin_keeping() {
  keeping_ = true;
  const std::vector<uint32_t> ranks = connected_;
  for (const uint32_t rank : ranks) offer_to_keep(rank);
}

void Mesh::offer_to_keep(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (peer.kept.offered || peer.gone || peer.connection == 0) return;
  const StreamCounts* const counts = peer.link == nullptr ? nullptr : peer.link->counts();
  if (counts != nullptr) peer.kept.posted = *counts;
  peer.kept.offered =
      send_control(rank, [&peer](std::byte* bytes) { return write_kept(peer.kept.posted, bytes); });
  align(rank);
}

void Mesh::handle_kept(uint32_t rank, const StreamCounts& posted) {
  peers_[rank].kept.theirs = posted;
  align(rank);
}

// What is posted here ends by itself: the messages that it meets were withdrawn, or came before
// their receive. A send that came early ends only with its receive, so this does not wait for the
// end of calls.
void Mesh::align(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!peer.kept.offered || !peer.kept.theirs || peer.kept.aligned || peer.gone) return;
  const StreamCounts& mine = peer.kept.posted;
  const StreamCounts& theirs = *peer.kept.theirs;
  bool posted = true;
  const auto post = [&](size_t channel, uint32_t short_of, bool sends) {
    // A negative number: the other side is short of some.
    if (static_cast<int32_t>(short_of) > kMostFillers) posted = false;
    for (int32_t i = static_cast<int32_t>(short_of); posted && i > 0; --i) {
      const auto on = static_cast<engine::Channel>(channel);
      const Result<engine::Operation> filler =
          sends ? endpoint_.send(peer.connection, on, transport::Payload{})
                : endpoint_.receive(peer.connection, on, transport::Payload{});
      if (filler) endpoint_.forget(*filler);
      posted = filler.has_value();
    }
  };
  for (size_t channel = 1; channel < StreamCounts::kChannels; ++channel) {
    post(channel, theirs.receives[channel] - mine.sends[channel], true);
    post(channel, theirs.sends[channel] - mine.receives[channel], false);
  }
  peer.kept.aligned = posted;
  if (!posted) drop(rank);
}

// The peer uses the connection for its next communicator, which it is first to know. What follows
// is for that. Only the higher rank connects, and only when both sides are ready.
void Mesh::handle_hello(uint32_t rank, const Hello& hello) {
  if (rank < members_.rank || !peers_[rank].kept.aligned) return drop(rank);
  peers_[rank].kept.hello = hello;
}

bool Mesh::kept(uint32_t rank) const { return peers_[rank].kept.aligned && !peers_[rank].gone; }

void Mesh::release(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!kept(rank) || (!peer.receive && !peer.kept.hello)) return;
  links_.keep({peer.connection, peer.receive, peer.slot, peer.kept.hello}, members_.addresses[rank],
              rank > members_.rank);
  std::erase(connected_, rank);
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

bool Mesh::poll_gone(uint32_t& rank) {
  if (gone_.empty()) return false;
  rank = gone_.pop_front();
  return true;
}

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
