// See peers.h.
#include "datapath/fec/peers.h"

#include <algorithm>

namespace heddle::datapath {

using transport::Address;

FecPeers::FecPeers() { peers_.reserve(fec_params::kMostPeers); }

FecPeers::Sending FecPeers::on_send(Nanos now, const Address& to) {
  Peer* peer = find(to);
  if (peer == nullptr) peer = add(now, to);
  if (peer == nullptr) return {};
  peer->sent_at = now;
  return {.announce = now >= peer->announce_at, .reads_parity = peer->reads_parity(now)};
}

void FecPeers::on_announced(Nanos now, const Address& to) {
  Peer* const peer = find(to);
  if (peer == nullptr) return;
  ++peer->announcements;
  const bool eager =
      !peer->reads_parity(now) && peer->announcements < fec_params::kFirstAnnouncements;
  peer->announce_at = now + (eager ? fec_params::kAnnounceAtFirst : fec_params::kAnnounceLater);
}

FecPeers::Peer* FecPeers::find(const Address& to) {
  if (latest_ < peers_.size() && peers_[latest_].to == to) return &peers_[latest_];
  const auto found = std::ranges::lower_bound(peers_, to, {}, &Peer::to);
  if (found == peers_.end() || found->to != to) return nullptr;
  latest_ = static_cast<size_t>(found - peers_.begin());
  return &*found;
}

FecPeers::Peer* FecPeers::add(Nanos now, const Address& to) {
  if (peers_.size() == fec_params::kMostPeers && !forget_one(now)) return nullptr;
  const auto place = std::ranges::lower_bound(peers_, to, {}, &Peer::to);
  return &*peers_.insert(place, {.to = to, .sent_at = now, .announce_at = now});
}

// False: all are in use. That is known for some time, in which no newcomer costs a look at all.
bool FecPeers::forget_one(Nanos now) {
  if (now < full_until_) return false;
  const auto oldest = std::ranges::min_element(peers_, {}, &Peer::sent_at);
  full_until_ = oldest->sent_at + fec_params::kInUse;
  if (now < full_until_) return false;
  peers_.erase(oldest);
  return true;
}

bool FecPeers::on_announcement(Nanos now, const Address& from, uint16_t port) {
  Peer* const peer = find({.host = from.host, .scope = from.scope, .port = port});
  if (peer == nullptr) return false;
  // A peer that began after this side has not seen the first announcements.
  if (!peer->reads_parity(now)) peer->announce_at = std::min(peer->announce_at, now);
  peer->announced = true;
  peer->announced_at = now;
  return true;
}

bool FecPeers::takes_part(Nanos now, const Address& from) const {
  const Address first{.host = from.host, .scope = from.scope, .port = 0};
  for (auto each = std::ranges::lower_bound(peers_, first, {}, &Peer::to);
       each != peers_.end() && each->to.host == from.host && each->to.scope == from.scope; ++each) {
    if (each->reads_parity(now)) return true;
  }
  return false;
}

}  // namespace heddle::datapath
