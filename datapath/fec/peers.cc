// See peers.h.
#include "datapath/fec/peers.h"

#include <algorithm>

namespace heddle::datapath {

using transport::Address;

FecPeers::Sending FecPeers::on_send(Nanos now, const Address& to) {
  Peer& peer = peer_at(now, to);
  peer.sent_at = now;
  Sending sending{.reads_parity = peer.reads_parity(now)};
  if (now < peer.announce_at) return sending;
  sending.announce = true;
  ++peer.announcements;
  const bool eager = !sending.reads_parity && peer.announcements < fec_params::kFirstAnnouncements;
  peer.announce_at = now + (eager ? fec_params::kAnnounceAtFirst : fec_params::kAnnounceLater);
  return sending;
}

FecPeers::Peer& FecPeers::peer_at(Nanos now, const Address& to) {
  if (latest_ < peers_.size() && peers_[latest_].to == to) return peers_[latest_];
  auto found = std::ranges::find(peers_, to, &Peer::to);
  if (found == peers_.end()) {
    if (peers_.size() < fec_params::kMostPeers) {
      found = peers_.insert(peers_.end(), Peer{});
    } else {
      found = std::ranges::min_element(peers_, {}, &Peer::sent_at);
    }
    *found = {.to = to, .sent_at = now, .announce_at = now};
  }
  latest_ = static_cast<size_t>(found - peers_.begin());
  return *found;
}

void FecPeers::on_announcement(Nanos now, const Address& from, uint16_t port) {
  const auto found = std::ranges::find(
      peers_, Address{.host = from.host, .scope = from.scope, .port = port}, &Peer::to);
  if (found == peers_.end()) return;
  // A peer that began after this side has not seen the first announcements.
  if (!found->reads_parity(now)) found->announce_at = std::min(found->announce_at, now);
  found->announced = true;
  found->announced_at = now;
}

bool FecPeers::takes_part(Nanos now, const Address& from) const {
  return std::ranges::any_of(peers_, [&](const Peer& peer) {
    return peer.to.host == from.host && peer.to.scope == from.scope && peer.reads_parity(now);
  });
}

}  // namespace heddle::datapath
