// Which pair of NICs each path uses, and the probes between NICs.
#include "transport/extensions/nic_selection.h"

#include "transport/connection/packet_writer.h"
#include "transport/wire/nic_frames.h"

namespace heddle::transport {

bool NicSelection::advertises_nics() const { return parts().shared.payload_in_datagrams; }

void NicSelection::propose(const HandshakeParameters* /*offered*/, HandshakeParameters& own,
                           std::string& /*congestion*/) {
  if (!advertises_nics()) return;
  own.features |= kFeatureNics;
  own.nics = parts().shared.advertised_nics;
}

// Needed where both sides know such frames, and one of them has several NICs.
void NicSelection::on_open(Nanos now, const Agreement& agreement) {
  if ((agreement.peer.features & kFeatureNics) == 0 || !advertises_nics()) return;
  const std::vector<Address>& own = parts().shared.options.nics;
  if (own.size() <= 1 && agreement.peer.nics.empty()) return;
  NicPairsOptions options;
  if (own.size() > 1) options.own = own;
  options.peer = agreement.peer.nics;
  options.home_peer = parts().identity.peer;
  options.home_nic = parts().identity.nic;
  options.paths = parts().sender.datagram_paths();
  options.asked_first = !parts().identity.initiator;
  pairs_ = std::make_unique<NicPairs>(now, options);
  parts().router = this;
}

void NicSelection::send_between(TxBurst& burst, const NicPair& pair) const {
  const Address& to = pairs_->peer(pair.peer_nic);
  burst.nic = pair.nic;
  burst.peer_nic = pair.peer_nic;
  burst.to.host = to.host;
  burst.to.scope = to.scope;
}

void NicSelection::direct(TxBurst& burst) const { send_between(burst, pair_of(burst.path)); }

// A group works while any of its paths does.
void NicSelection::update_groups(Nanos now) {
  const SendController& sender = parts().sender;
  if (sender.path_changes() == path_changes_seen_) return;
  path_changes_seen_ = sender.path_changes();
  uint32_t working = 0;
  for (uint16_t path = 0; path < sender.datagram_paths(); ++path) {
    if (sender.is_active(path)) working |= uint32_t{1} << pairs_->group_of(path);
  }
  for (uint32_t group = 0; group < pairs_->groups(); ++group) {
    pairs_->set_works(now, group, (working >> group & 1) != 0);
  }
}

// Sends the probes and answers that are due.
bool NicSelection::transmit(Nanos now, TxBatch& batch) {
  update_groups(now);
  while (pairs_->due(now)) {
    if (!batch.has_room(SendController::kBaseDatagram)) return true;
    NicPairs::Message message;
    FrameType type = FrameType::kNicAnswer;
    if (!pairs_->poll_answer(message)) {
      type = FrameType::kNicProbe;
      if (!pairs_->poll_probe(now, parts().shared.secrets, message)) return false;
    }
    send_frame(now, batch, type, message);
  }
  return false;
}

// A control packet without a number: it is not retransmitted.
void NicSelection::send_frame(Nanos now, TxBatch& batch, FrameType type,
                              const NicPairs::Message& message) {
  PacketKey* key = next_send_key(parts(), now, 1);
  std::byte* space = batch.header_space();
  ConnectionHeader header = packet_header(parts(), now, PacketType::kControl, message.path, 0);
  header.number = parts().keys.next_unnumbered();
  write_connection_header(header, space);
  Writer writer({space + kConnectionHeaderBytes, kNicFrameBytes});
  write_nic_frame(type, {message.token}, writer);
  TxBurst burst =
      single_packet(parts(), kConnectionHeaderBytes + kNicFrameBytes, message.path, space);
  send_between(burst, message.pair);
  burst.key = key;
  batch.add(burst);
}

FrameResult NicSelection::on_frame(Nanos now, FrameType type, Reader& reader,
                                   const FrameOrigin& from) {
  NicFrame frame;
  if (!read_nic_frame(reader, frame) || !pairs_) return kMalformedFrame;
  if (type == FrameType::kNicProbe) {
    pairs_->on_probe(now, from.run.from, from.run.nic, frame.token);
    return {};
  }
  SendController& sender = parts().sender;
  const uint32_t moved = pairs_->on_answer(from.run.from, from.run.nic, frame.token);
  for (uint16_t path = 0; moved != 0 && path < sender.datagram_paths(); ++path) {
    if ((moved >> pairs_->group_of(path) & 1) == 0) continue;
    sender.on_moved(path);
    const NicPair pair = pairs_->pair_of(path);
    parts().shared.observer.emit(
        events::PathMoved{now, parts().identity.id, path, pair.nic, pair.peer_nic});
  }
  return {};
}

size_t NicSelection::bytes_held() const {
  return sizeof(*this) + (pairs_ ? pairs_->bytes_held() : 0);
}

}  // namespace heddle::transport
