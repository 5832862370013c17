// What cluster keys add to a connection: its session, which key seals what leaves, and which
// packets are worth opening.
#include "transport/connection/connection.h"

namespace heddle::transport {

using events::ConnectionState;
using events::DropReason;

// Bursts of the latest batch may name its key.
Connection::~Connection() {
  if (session_) session_->retire(shared_.retired);
}

void Connection::begin_session(const KeyNonce& initiator_nonce, const KeyNonce& acceptor_nonce) {
  const uint32_t initiator = initiator_ ? id_ : peer_id_;
  const uint32_t acceptor = initiator_ ? peer_id_ : id_;
  session_ = std::make_unique<Session>(
      *key_, SessionNames{initiator_nonce, acceptor_nonce, initiator, acceptor}, initiator_);
}

SealKey* Connection::seal_next(Nanos now, uint32_t segments) {
  if (!session_) return nullptr;
  const uint64_t limit = shared_.options.packets_a_key;
  const uint8_t before = session_->epoch_flags();
  SealKey& key = session_->sealer(segments, limit, shared_.retired);
  if (session_->epoch_flags() != before) epoch_began_at_ = now;
  // Whoever only acknowledges learns from nothing else that the peer has its key.
  if (session_->wants_proof(limit) && !flight_.awaits_ack()) ping_due_ = true;
  return &key;
}

// A packet that arrived before is dropped unopened: a flood of old ones costs little then.
SealKey* Connection::opener(const ConnectionHeader& header, DropReason& why) {
  if (state_ == ConnectionState::kHandshaking || over() || !session_) {
    why = DropReason::kClosed;
    return nullptr;
  }
  const bool control = header.type == PacketType::kControl;
  const bool numbered = !control || (header.flags & kFlagNumbered) != 0;
  if (header.path >= acks_.paths() || header.number == 0 || header.number >= uint64_t{1} << 31) {
    why = DropReason::kBadField;
    return nullptr;
  }
  Novelty novelty = Novelty::kNew;
  if (numbered) {
    novelty = acks_.judge(header.path, header.number, header.number);
  } else if (!session_->is_new(header.number)) {
    novelty = Novelty::kDuplicate;
  }
  if (novelty != Novelty::kNew) {
    why = novelty == Novelty::kTooOld ? DropReason::kTooOld : DropReason::kDuplicate;
    return nullptr;
  }
  SealKey* key = session_->opener(header.flags);
  if (key == nullptr) why = DropReason::kBadSeal;
  return key;
}

void Connection::note_opened(const ConnectionHeader& header) {
  confirmed_ = true;
  session_->opened(header.flags);
}

}  // namespace heddle::transport
