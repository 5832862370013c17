// When routes are looked for, the probes, and what follows for the choice of paths.
#include "transport/extensions/path_discovery.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "transport/connection/packet_writer.h"
#include "transport/extensions/params.h"

namespace heddle::transport {
namespace {

using namespace params::path_discovery;

// Where a probe's send time would stand: the hop in the low byte, a secret above it.
constexpr uint64_t kHopMask = 0xff;

}  // namespace

void PathDiscovery::request(Nanos now) {
  if (!running()) begin(now);
  run_->kept = true;
}

bool PathDiscovery::found(FabricRoutes& routes) const {
  if (!run_ || !run_->kept) return false;
  routes = {};
  routes.under_way = !run_->ended;
  if (run_->ended) routes = run_->discovery.routes();
  return true;
}

void PathDiscovery::on_open(Nanos now, const Agreement& agreement) {
  const SendController& sender = parts().sender;
  const bool datagrams_carry_payload = sender.paths() == sender.datagram_paths();
  automatic_ = agreement.options.discovery == DiscoveryMode::kAuto && datagrams_carry_payload &&
               sender.paths() >= kFewestPaths;
  next_at_ = automatic_ ? now : Nanos::never();
}

void PathDiscovery::begin(Nanos now) {
  const bool kept = run_ && run_->kept;
  run_ = std::make_unique<Run>(now, parts().sender.datagram_paths());
  run_->mark = parts().shared.secrets.draw(SecretUse::kDiscoveryMark) & ~kHopMask;
  run_->kept = kept;
}

void PathDiscovery::begin_if_due(Nanos now) {
  if (parts().sender.take_paths_changed() && automatic_) next_at_ = now + kAfterChange;
  if (next_at_ > now) return;
  next_at_ = now + kInterval;
  const uint64_t sent = parts().statistics.payload_bytes_sent;
  if (sent == sent_before_latest_ || running()) return;
  sent_before_latest_ = sent;
  begin(now);
}

// Sends what is due.
bool PathDiscovery::transmit(Nanos now, TxBatch& batch) {
  if (!automatic_ && !run_) return false;
  begin_if_due(now);
  if (!running()) return false;
  Discovery::Probe probe;
  while (batch.has_room(TxBatch::kLargestPacket)) {
    if (!run_->discovery.poll_probe(now, probe)) {
      if (run_->discovery.done()) end(now);
      return false;
    }
    send_probe(now, batch, probe);
  }
  return true;
}

// A control packet without frames, or a ping where the peer is to acknowledge it. Where no record
// can be lent for that, it counts as lost.
void PathDiscovery::send_probe(Nanos now, TxBatch& batch, const Discovery::Probe& probe) {
  SendController& sender = parts().sender;
  SentBurst* sent = probe.confirms ? sender.record(probe.path, 1) : nullptr;
  if (probe.confirms && sent == nullptr) return;
  PacketKey* key = next_send_key(parts(), now, 1);
  std::byte* space = batch.header_space();
  ConnectionHeader header = packet_header(parts(), now, PacketType::kControl, probe.path,
                                          sent != nullptr ? kFlagNumbered : uint8_t{0});
  size_t bytes = kConnectionHeaderBytes;
  if (sent != nullptr) {
    header.number = sent->first_number;
    sent->hop_limit = probe.hop;
    sender.sent(now, probe.path);
    space[bytes++] = static_cast<std::byte>(FrameType::kPing);
  } else {
    header.sent_at = Nanos{static_cast<int64_t>(run_->mark | probe.hop)};
    header.number = parts().keys.next_unnumbered();
  }
  write_connection_header(header, space);
  TxBurst burst = single_packet(parts(), bytes, probe.path, space);
  burst.key = key;
  burst.hop_limit = probe.hop;
  batch.add(burst);
}

void PathDiscovery::on_acked(const SentBurst& sent, uint32_t /*first*/, uint32_t /*count*/,
                             bool /*was_lost*/) {
  if (sent.hop_limit != 0 && run_) run_->discovery.on_arrived(sent.hop_limit);
}

// Believed where it quotes what a probe of this discovery carried: only a host that saw the probe
// knows that.
void PathDiscovery::on_network_error(const NetworkError& error) {
  if (error.kind != NetworkErrorKind::kTimeExceeded) return;
  if (!run_ || error.quoted_bytes < NetworkError::kMostQuoted) return;
  std::array<std::byte, kConnectionHeaderBytes> packet{};
  std::copy(error.quoted.begin(), error.quoted.end(), packet.begin());
  const ConnectionHeader quoted = read_connection_header(packet.data());
  const auto mark = static_cast<uint64_t>(quoted.sent_at.count);
  if (quoted.path != error.path || quoted.connection != parts().identity.peer_wire_id ||
      (mark & ~kHopMask) != run_->mark) {
    return;
  }
  run_->discovery.on_answer(error.path, static_cast<uint8_t>(mark & kHopMask), error.router);
}

void PathDiscovery::end(Nanos now) {
  SendController& sender = parts().sender;
  const FabricRoutes routes = run_->discovery.routes();
  parts().statistics.routes = routes.count();
  const bool chooses = automatic_ && !parts().paths_chosen;
  if (chooses && routes.count() > 0) {
    sender.choose(now, paths_of_each_route(routes, kPathsARoute));
  } else if (chooses && sender.all_active()) {
    // A dead path is silent too: only where all work the earlier choice is known to be outdated.
    sender.choose(now, {});
  }
  run_->ended = true;
  parts().shared.observer.emit(events::RoutesFound{now, parts().identity.id, routes.verdict,
                                                   routes.seen, routes.hops,
                                                   sender.datagram_paths(), sender.active()});
  report_routers(now, routes);
  if (!run_->kept) run_.reset();
}

// Discoveries are repeated and mostly find the same routers: only changes are reported, since a
// recording keeps every report.
void PathDiscovery::report_routers(Nanos now, const FabricRoutes& routes) {
  const Observer& observer = parts().shared.observer;
  if (!observer.wants(events::EventKind::kPathTraced)) return;
  uint64_t hash = mix_bits(routes.hops + 1u);
  for (const RouterAddress& router : routes.routers) {
    const Address address{.host = router};
    hash = mix_bits(hash ^ host_part(address, 0)) + mix_bits(hash + host_part(address, 8));
  }
  const auto reported = static_cast<uint32_t>(hash);
  if (std::exchange(routers_reported_, reported) == reported) return;
  for (uint16_t path = 0; path < routes.route_of.size(); ++path) {
    for (uint8_t hop = 1; hop <= routes.hops; ++hop) {
      const Address router{.host = routes.router(path, hop)};
      observer.emit(events::PathTraced{now, parts().identity.id, path, hop, routes.hops,
                                       host_part(router, 0), host_part(router, 8)});
    }
  }
}

Nanos PathDiscovery::next_timeout() const {
  return running() ? std::min(next_at_, run_->discovery.next_timeout()) : next_at_;
}

size_t PathDiscovery::bytes_held() const {
  return sizeof(*this) + (run_ ? run_->discovery.bytes_held() : 0);
}

}  // namespace heddle::transport
