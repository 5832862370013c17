// See routes.h.
#include "datapath/xdp/routes.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "datapath/udp/socket_address.h"
#include "datapath/xdp/params.h"

namespace heddle::datapath {

using transport::Address;

size_t RouteCache::KeyHash::operator()(const Key& key) const {
  uint64_t words[2];
  std::memcpy(words, key.host.data(), sizeof words);
  return mix_bits(words[0] ^ mix_bits(words[1] ^ key.scope));
}

const FrameTemplate* RouteCache::find(const Address& to, Nanos now) {
  if (now >= next_notifications_) {
    next_notifications_ = now + xdp_params::kNotificationsEvery;
    if (netlink_.changed()) expire();
  }
  const Key key{to.host, to.scope};
  if (last_ == nullptr || key != last_key_) {
    if (entries_.size() >= xdp_params::kMaxDestinations) entries_.clear();
    last_ = &entries_[key];
    last_key_ = key;
  }
  if (now >= last_->until) look_up(to, now, *last_);
  return last_->direct ? &last_->frame : nullptr;
}

void RouteCache::expire() {
  for (auto& [key, entry] : entries_) entry.until = Nanos{};
}

void RouteCache::look_up(const Address& to, Nanos now, Entry& entry) const {
  entry.direct = false;
  entry.until = now + xdp_params::kRouteAge;
  if (!is_any(interface_.local) && !transport::same_family(to, interface_.local)) return;
  const auto route = netlink_.route(interface_.local, to, interface_.traffic_class);
  if (!route || !route->unicast || !route->one_next_hop) return;
  const Address& from = is_any(interface_.local) ? route->from : interface_.local;
  if (route->interface != interface_.index || !transport::same_family(to, from) || is_any(from)) {
    return;
  }
  const NeighborFacts neighbor = netlink_.neighbor(interface_.index, route->next);
  // A stale neighbor is verified by the kernel when the kernel sends to it: one datagram takes that
  // way, and the neighbor is usable again.
  if (!neighbor.resolved || neighbor.stale) {
    entry.until = now + xdp_params::kUnresolvedAge;
    return;
  }
  LinkHeader link;
  link.from = interface_.mac;
  link.to = neighbor.mac;
  link.tags = interface_.tags;
  link.tag_count = interface_.tag_count;
  entry.frame = make_frame_template(link, from, to);
  entry.direct = true;
}

}  // namespace heddle::datapath
