// Finding the ways of the fabric: probes whose hop limit ends on purpose, the ICMP answers of the
// routers where they end, and what follows for the choice of paths. What can be forged in it, and
// how far that reaches, stands in docs/security.md.
#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "transport/connection/connection.h"

namespace heddle::transport {
namespace {

// Paths of each way that carry payload once the ways are known. With fewer, a loss on one of them
// reduces the window by more: four and eight links of 200 Mb/s at MTU 1500 are used to 88 to 89%
// with 2 a way, 98% with 4 (worst of twelve 91%) and 98% with 8 (98%).
constexpr uint16_t kPathsAWay = 8;
// With fewer paths not even a single way can be told from two.
constexpr uint16_t kFewestPaths = 8;
// After a path was set aside or came back: switches take a while to agree on new ways.
constexpr Nanos kAfterChange = seconds(2);
// Switches may spread entropies anew without any path failing.
constexpr Nanos kLookAgain = seconds(60);
// Where a probe's send time would stand: the hop in the low byte, a secret above it.
constexpr uint64_t kHopMask = 0xff;

}  // namespace

Result<void> Connection::post_discovery(Nanos now) {
  if (state_ != events::ConnectionState::kOpen) {
    return fail(ErrorCode::kClosed, "cannot look for the ways of the fabric",
                "the connection is not open");
  }
  if (!discovering_ || discovering_->told) begin_discovery(now);
  discovering_->kept = true;
  return {};
}

void Connection::begin_discovery(Nanos now) {
  const bool kept = discovering_ && discovering_->kept;
  discovering_ = std::make_unique<Discovering>(now, sender_.first_chunk_path());
  discovering_->mark = shared_.secrets.draw(SecretUse::kDiscoveryMark) & ~kHopMask;
  discovering_->kept = kept;
}

// On opening, where the options ask for it.
void Connection::plan_discovery(Nanos now) {
  const bool wanted = options_.discovery == DiscoveryMode::kAuto && chunk_bytes_ == 0 &&
                      sender_.first_chunk_path() >= kFewestPaths;
  discover_at_ = wanted ? now : Nanos::never();
  discovers_ = wanted;
}

// Sends what is due; true: the batch has no room for it.
bool Connection::discover(Nanos now, TxBatch& batch) {
  if (sender_.take_paths_changed() && discovers_) discover_at_ = now + kAfterChange;
  if (discover_at_ <= now) {
    discover_at_ = now + kLookAgain;
    const bool idle = statistics_.payload_bytes_sent == discovered_after_bytes_;
    if (!idle && (!discovering_ || discovering_->told)) {
      discovered_after_bytes_ = statistics_.payload_bytes_sent;
      begin_discovery(now);
    }
  }
  if (!discovering_ || discovering_->told) return false;
  Discovery::Probe probe;
  while (batch.has_room(TxBatch::kLargestPacket)) {
    if (!discovering_->discovery.poll_probe(now, probe)) {
      if (discovering_->discovery.done()) end_discovery(now);
      return false;
    }
    send_probe(now, batch, probe);
  }
  return true;
}

// A control packet without frames, or a ping where the peer is to acknowledge it. Where no record
// can be lent for that, it counts as lost on its way.
void Connection::send_probe(Nanos now, TxBatch& batch, const Discovery::Probe& probe) {
  SentBurst* run = probe.confirms ? sender_.record(probe.path, 1) : nullptr;
  if (probe.confirms && run == nullptr) return;
  SealKey* seal = seal_next(now, 1);
  std::byte* space = batch.header_space();
  ConnectionHeader start =
      header(now, PacketType::kControl, probe.path, run != nullptr ? kFlagNumbered : uint8_t{0});
  size_t bytes = kConnectionHeaderBytes;
  if (run != nullptr) {
    start.number = run->first_number;
    run->hop_limit = probe.hop;
    sender_.sent(now, probe.path);
    space[bytes++] = static_cast<std::byte>(FrameType::kPing);
  } else {
    start.sent_at = Nanos{static_cast<int64_t>(discovering_->mark | probe.hop)};
    if (session_) start.number = session_->next_unnumbered();
  }
  write_connection_header(start, space);
  TxBurst burst = single(bytes, probe.path, space);
  burst.seal = seal;
  burst.hop_limit = probe.hop;
  batch.add(burst);
}

// Believed where it quotes what a probe of ours carried: whoever did not see one cannot know that.
void Connection::handle_time_exceeded(const NetworkError& error) {
  if (!discovering_ || error.quoted_bytes < NetworkError::kMostQuoted) return;
  std::array<std::byte, kConnectionHeaderBytes> packet{};
  std::copy(error.quoted.begin(), error.quoted.end(), packet.begin());
  const ConnectionHeader quoted = read_connection_header(packet.data());
  const auto mark = static_cast<uint64_t>(quoted.sent_at.count);
  if (quoted.path != error.path || quoted.connection != peer_wire_id_ ||
      (mark & ~kHopMask) != discovering_->mark) {
    return;
  }
  discovering_->discovery.on_answer(error.path, static_cast<uint8_t>(mark & kHopMask),
                                    error.router);
}

void Connection::end_discovery(Nanos now) {
  const FabricWays found = discovering_->discovery.ways();
  statistics_.ways = found.ways();
  const bool chooses = discovers_ && !fixed_;
  if (chooses && found.ways() > 0) {
    sender_.choose(now, some_of_each_way(found, kPathsAWay));
  } else if (chooses && sender_.all_active()) {
    // A dead path is silent too: only where all work is what was chosen before worth nothing.
    sender_.choose(now, {});
  }
  discovering_->told = true;
  shared_.observer.emit(events::WaysFound{now, id_, found.verdict, found.seen, found.hops,
                                          sender_.first_chunk_path(), sender_.active()});
  tell_routers(now, found);
  if (!discovering_->kept) discovering_.reset();
}

// Looks come again and again and mostly find what was there; it is kept for good by who records.
void Connection::tell_routers(Nanos now, const FabricWays& found) {
  if (!shared_.observer.wants(events::EventKind::kPathTraced)) return;
  uint64_t hash = mix_bits(found.hops + 1u);
  for (const RouterAddress& router : found.routers) {
    const Address address{.host = router};
    hash = mix_bits(hash ^ host_part(address, 0)) + mix_bits(hash + host_part(address, 8));
  }
  const auto told = static_cast<uint32_t>(hash);
  if (std::exchange(routers_told_, told) == told) return;
  for (uint16_t path = 0; path < found.way_of.size(); ++path) {
    for (uint8_t hop = 1; hop <= found.hops; ++hop) {
      const Address router{.host = found.router(path, hop)};
      shared_.observer.emit(events::PathTraced{now, id_, path, hop, found.hops,
                                               host_part(router, 0), host_part(router, 8)});
    }
  }
}

bool Connection::ways(FabricWays& found) const {
  if (!discovering_ || !discovering_->kept) return false;
  found = {};
  found.under_way = !discovering_->told;
  if (discovering_->told) found = discovering_->discovery.ways();
  return true;
}

}  // namespace heddle::transport
