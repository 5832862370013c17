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
  session_ = std::make_unique<Session>(*key_,
                                       SessionNames{initiator_nonce, acceptor_nonce, initiator,
                                                    acceptor, shared_.options.protection},
                                       initiator_);
}

SealKey* Connection::seal_next(Nanos now, uint32_t segments) {
  if (!session_) return nullptr;
  const uint64_t limit = shared_.options.packets_a_key;
  const uint8_t before = session_->epoch_flags();
  SealKey& key = session_->sealer(segments, limit, shared_.retired);
  if (session_->epoch_flags() != before) epoch_began_at_ = now;
  // Whoever only acknowledges learns from nothing else that the peer has its key.
  if (session_->wants_proof(limit) && !sender_.awaits_ack()) ping_due_ = true;
  return &key;
}

// Proves the data headers of a burst, where their payload is not protected; `burst` then leaves as
// it is.
void Connection::protect(TxBurst& burst, std::byte* headers, SealKey* seal) {
  HeaderTags* const tags = session_ ? session_->tags() : nullptr;
  if (tags == nullptr) {
    burst.seal = seal;
    return;
  }
  tags->write({burst.segments, burst.header_bytes, burst.payload_bytes, burst.last_payload_bytes},
              headers);
}

SealKey* Connection::opener(const ConnectionHeader& header, DropReason& why) {
  bool apart = false;
  if (!may_open(header, 1, why, apart)) return nullptr;
  SealKey* key = session_->opener(header.flags);
  if (key == nullptr) why = DropReason::kBadSeal;
  return key;
}

HeaderTags* Connection::checker(const ConnectionHeader& header, uint32_t segments, DropReason& why,
                                bool& apart) {
  if (!may_open(header, segments, why, apart)) return nullptr;
  HeaderTags* tags = session_->checker(header.flags);
  if (tags == nullptr) why = DropReason::kBadSeal;
  return tags;
}

// A packet that arrived before is dropped unopened: a flood of old ones costs little then. `apart`:
// some of the row did.
bool Connection::may_open(const ConnectionHeader& header, uint32_t segments, DropReason& why,
                          bool& apart) {
  if (state_ == ConnectionState::kHandshaking || over() || !session_) {
    why = DropReason::kClosed;
    return false;
  }
  const bool control = header.type == PacketType::kControl;
  const bool numbered = !control || (header.flags & kFlagNumbered) != 0;
  if (header.path >= acks_.paths() || header.number == 0 || header.number > INT64_MAX) {
    why = DropReason::kBadField;
    return false;
  }
  Novelty novelty = Novelty::kNew;
  if (numbered) {
    novelty = acks_.judge(header.path, header.number, header.number + segments - 1);
  } else if (!session_->is_new(header.number)) {
    novelty = Novelty::kDuplicate;
  }
  apart = novelty == Novelty::kMixed;
  why = novelty == Novelty::kTooOld ? DropReason::kTooOld : DropReason::kDuplicate;
  return novelty == Novelty::kNew;
}

void Connection::note_opened(const ConnectionHeader& header) {
  confirmed_ = true;
  session_->opened(header.flags);
}

}  // namespace heddle::transport
