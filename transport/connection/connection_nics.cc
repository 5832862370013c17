// Several NICs of a host in one connection: what is told of them, which of them a packet leaves
// from and goes to, and the probes that find out which reach each other. Where no probe was
// answered nothing else is sent (docs/security.md).
#include <algorithm>

#include "transport/connection/connection.h"
#include "transport/wire/nic_frames.h"

namespace heddle::transport {
namespace {

// Leading bits that two hosts' addresses have in common.
uint32_t common_bits(const Address& one, const Address& other) {
  for (uint32_t bit = 0; bit < 8 * kHostBytes; ++bit) {
    const uint32_t mask = 0x80u >> (bit % 8);
    if (((one.host[bit / 8] ^ other.host[bit / 8]) & mask) != 0) return bit;
  }
  return 8 * kHostBytes;
}

}  // namespace

// The NIC that the next init leaves from: first the one whose address looks nearest to the peer's,
// then the others in turn. Those that cannot speak to it are left out.
void Connection::turn_to_nic(uint32_t number) {
  const std::vector<Address>& nics = shared_.options.nics;
  if (nics.size() <= 1) return;
  uint32_t nearest = 0;
  uint32_t usable = 0;
  int64_t most = -1;
  for (uint32_t i = 0; i < nics.size(); ++i) {
    if (!same_family(nics[i], peer_)) continue;
    ++usable;
    const auto bits = static_cast<int64_t>(common_bits(nics[i], peer_));
    if (bits > most) nearest = i;
    most = std::max(most, bits);
  }
  if (usable == 0) return;  // the datapath says why not
  nic_ = static_cast<uint8_t>(nearest);
  for (uint32_t steps = number % usable; steps > 0; --steps) {
    do {
      nic_ = static_cast<uint8_t>((nic_ + 1u) % nics.size());
    } while (!same_family(nics[nic_], peer_));
  }
}

// Both sides know of such frames, and one of them has several NICs.
void Connection::open_nics(Nanos now, const HandshakeParameters& peer) {
  if ((peer.features & kFeatureNics) == 0 || !tells_nics() || chunk_bytes_ != 0) return;
  const std::vector<Address>& own = shared_.options.nics;
  if (own.size() <= 1 && peer.nics.empty()) return;
  NicPairsOptions options;
  if (own.size() > 1) options.own = own;
  options.peer = peer.nics;
  options.home_peer = peer_;
  options.home_nic = nic_;
  options.paths = sender_.first_chunk_path();
  options.asked_first = !initiator_;
  pairs_ = std::make_unique<NicPairs>(now, options);
}

// Where a burst of this path leaves, and where it goes to.
void Connection::direct(TxBurst& burst) const {
  const NicPair pair = pairs_->pair_of(burst.path);
  const Address& to = pairs_->peer(pair.peer_nic);
  burst.nic = pair.nic;
  burst.peer_nic = pair.peer_nic;
  burst.to.host = to.host;
  burst.to.scope = to.scope;
}

// A lane works while any of its paths does.
void Connection::watch_nics(Nanos now) {
  if (sender_.path_changes() == path_changes_seen_) return;
  path_changes_seen_ = sender_.path_changes();
  uint32_t working = 0;
  for (uint16_t path = 0; path < sender_.first_chunk_path(); ++path) {
    if (sender_.is_active(path)) working |= uint32_t{1} << pairs_->lane_of(path);
  }
  for (uint32_t lane = 0; lane < pairs_->lanes(); ++lane) {
    pairs_->set_works(now, lane, (working >> lane & 1) != 0);
  }
}

// Sends the probes and answers that are due; true: the batch has no room for them.
bool Connection::talk_between_nics(Nanos now, TxBatch& batch) {
  watch_nics(now);
  while (pairs_->due(now)) {
    if (!batch.has_room(SendController::kBaseDatagram)) return true;
    NicPairs::Message message;
    FrameType type = FrameType::kNicAnswer;
    if (!pairs_->poll_answer(message)) {
      type = FrameType::kNicProbe;
      if (!pairs_->poll_probe(now, shared_.secrets, message)) return false;
    }
    send_nic_frame(now, batch, type, message);
  }
  return false;
}

// A control packet without a number: nobody misses it.
void Connection::send_nic_frame(Nanos now, TxBatch& batch, FrameType type,
                                const NicPairs::Message& message) {
  SealKey* seal = seal_next(now, 1);
  std::byte* space = batch.header_space();
  ConnectionHeader start = header(now, PacketType::kControl, message.path, 0);
  if (session_) start.number = session_->next_unnumbered();
  write_connection_header(start, space);
  Writer writer({space + kConnectionHeaderBytes, kNicFrameBytes});
  write_nic_frame(type, {message.token}, writer);
  TxBurst burst = single(kConnectionHeaderBytes + kNicFrameBytes, message.path, space);
  const Address& to = pairs_->peer(message.pair.peer_nic);
  burst.nic = message.pair.nic;
  burst.peer_nic = message.pair.peer_nic;
  burst.to.host = to.host;
  burst.to.scope = to.scope;
  burst.seal = seal;
  batch.add(burst);
}

bool Connection::handle_nic_frame(Nanos now, FrameType type, Reader& reader,
                                  const ControlInput& input) {
  NicFrame frame;
  if (!read_nic_frame(reader, frame) || !pairs_) return false;
  if (type == FrameType::kNicProbe) {
    pairs_->on_probe(now, input.run.from, input.run.nic, frame.token);
    return true;
  }
  const uint32_t moved = pairs_->on_answer(input.run.from, input.run.nic, frame.token);
  for (uint16_t path = 0; moved != 0 && path < sender_.first_chunk_path(); ++path) {
    if ((moved >> pairs_->lane_of(path) & 1) == 0) continue;
    sender_.on_moved(path);
    const NicPair pair = pairs_->pair_of(path);
    shared_.observer.emit(events::PathMoved{now, id_, path, pair.nic, pair.peer_nic});
  }
  return true;
}

}  // namespace heddle::transport
