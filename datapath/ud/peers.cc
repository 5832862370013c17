// See peers.h.
#include "datapath/ud/peers.h"

#include <algorithm>

#include "datapath/ud/params.h"

namespace heddle::datapath {

using transport::Address;

namespace {

template <typename Peer>
const UdPeer& name_of(const Peer& peer) {
  return peer.at.peer;
}

template <typename Peer>
const Address& address_of(const Peer& peer) {
  return peer.at.peer.to;
}

}  // namespace

UdPeers::UdPeers() { peers_.reserve(ud_params::kMostPeers); }

UdPeers::Peer* UdPeers::find(const UdPeer& to) {
  if (latest_ < peers_.size() && peers_[latest_].at.peer == to) return &peers_[latest_];
  const auto found = std::ranges::lower_bound(peers_, to, {}, name_of<Peer>);
  if (found == peers_.end() || found->at.peer != to) return nullptr;
  latest_ = static_cast<size_t>(found - peers_.begin());
  return &*found;
}

std::span<UdPeers::Peer> UdPeers::at(const Address& to) {
  const auto range = std::ranges::equal_range(peers_, to, {}, address_of<Peer>);
  return {range.begin(), range.end()};
}

uint8_t UdPeers::engines_of(const Address& to) {
  if (latest_ < peers_.size() && peers_[latest_].at.peer.to == to) return peers_[latest_].engines;
  const std::span<Peer> engines = at(to);
  return engines.empty() ? 1 : engines.front().engines;
}

// Where all places are used, the peer that was sent to least recently gives its own.
UdPeers::Peer& UdPeers::add(Nanos now, const UdPeer& to) {
  const uint8_t engines = engines_of(to.to);
  if (peers_.size() == ud_params::kMostPeers) {
    peers_.erase(std::ranges::min_element(peers_, {}, &Peer::sent_at));
  }
  Peer made;
  made.at.peer = to;
  made.engines = engines;
  made.back = ud_params::kBackAfter;
  begin(now, made);
  return *peers_.insert(std::ranges::lower_bound(peers_, to, {}, name_of<Peer>), made);
}

void UdPeers::begin(Nanos at, Peer& peer) const {
  peer.state = State::kUnknown;
  peer.ask_at = at;
  peer.span = ud_params::kAskAgain;
  peer.asks = 0;
  peer.nonce = 0;
}

UdPeers::Sending UdPeers::on_send(Nanos now, const UdPeer& to, bool of_connection) {
  Peer* peer = find(to);
  if (peer == nullptr && !of_connection) return {};
  if (peer == nullptr) peer = &add(now, to);
  peer->sent_at = now;
  Sending out{.to = &peer->at};
  if (of_connection && is_due(now, *peer)) {
    out.ask = peer->state == State::kUnknown ? Ask::kByUdp : Ask::kByPair;
  }
  out.by_pair = peer->state == State::kProven;
  return out;
}

bool UdPeers::is_due(Nanos now, Peer& peer) const {
  if (now < peer.ask_at) return false;
  const bool unheard = peer.nonce != 0 && looked_at_ < peer.ask_at;
  if (unheard) return false;  // its answer may be there
  if (peer.state != State::kUnknown && peer.nonce != 0 && peer.asks >= ud_params::kUnanswered) {
    begin(now + peer.back, peer);
    peer.back = std::min(peer.back * 2, ud_params::kAskSlowly);
    return false;
  }
  return true;
}

void UdPeers::on_asked(Nanos now, const UdPeer& to, uint64_t nonce) {
  Peer* const peer = find(to);
  if (peer == nullptr) return;
  peer->nonce = nonce;
  peer->by_pair = peer->state != State::kUnknown;
  peer->ask_at = now + peer->span;
  peer->span = std::min(peer->span * 2, ud_params::kAskSlowly);
  ++peer->asks;
}

bool UdPeers::on_answer(Nanos now, const Address& from, const Greeting& answer) {
  if (answer.nonce == 0) return false;
  const std::span<Peer> engines = at({.host = from.host, .scope = from.scope, .port = answer.port});
  const auto peer = std::ranges::find(engines, answer.nonce, &Peer::nonce);
  if (peer == engines.end()) return false;
  for (Peer& each : engines) each.engines = answer.engines;
  // Another engine answers where the endpoint has fewer than it had: nothing is sent to this one
  // any more.
  if (peer->at.peer.engine != answer.from) return false;
  const UdDestination known = peer->at;
  peer->at.queue_pair = answer.queue_pair;
  peer->at.key = answer.key;
  peer->at.mtu_bytes = mtu_bytes(answer.mtu);
  const bool same = known.queue_pair == answer.queue_pair && known.key == answer.key;
  peer->state = peer->by_pair && same ? State::kProven : State::kAnswered;
  peer->nonce = 0;
  peer->asks = 0;
  peer->span = ud_params::kProveAgain;
  peer->ask_at = now;
  if (peer->state == State::kProven) {
    peer->ask_at = now + ud_params::kProveEvery;
    peer->back = ud_params::kBackAfter;
  }
  return true;
}

void UdPeers::on_moved(Nanos now, const UdPeer& to) {
  Peer* const peer = find(to);
  // While it is asked, more of these change nothing, so they cost an ask in that time at most.
  if (peer == nullptr || peer->state == State::kUnknown) return;
  begin(now, *peer);
}

}  // namespace heddle::datapath
