// Which key protects what is sent, and which received packets are worth decrypting.
#include "transport/connection/packet_keys.h"

namespace heddle::transport {

using events::DropReason;

PacketKeys::~PacketKeys() {
  if (session_) session_->retire(shared_.retired);
}

void PacketKeys::begin_session(const KeyNonce& acceptor_nonce) {
  if (!cluster_key_) return;
  const bool initiator = identity_.initiator;
  SessionNames names;
  names.initiator_nonce = initiator_nonce_;
  names.acceptor_nonce = acceptor_nonce;
  names.initiator_id = initiator ? identity_.id : identity_.peer_id;
  names.acceptor_id = initiator ? identity_.peer_id : identity_.id;
  names.protection = shared_.options.protection;
  session_ = std::make_unique<Session>(*cluster_key_, names, initiator);
}

PacketKey* PacketKeys::send_key(Nanos now, uint32_t segments) {
  if (!session_) return nullptr;
  const uint8_t before = session_->epoch_flags();
  PacketKey& key = session_->send_key(segments, shared_.options.packets_a_key, shared_.retired);
  if (session_->epoch_flags() != before) epoch_began_at_ = now;
  return &key;
}

bool PacketKeys::wants_proof() const {
  return session_ && session_->wants_proof(shared_.options.packets_a_key);
}

uint64_t PacketKeys::next_unnumbered() { return session_ ? session_->next_unnumbered() : 0; }

void PacketKeys::protect(TxBurst& burst, std::byte* headers, PacketKey* key) {
  HeaderTags* const tags = session_ ? session_->tags() : nullptr;
  if (tags == nullptr) {
    burst.key = key;
    return;
  }
  tags->write({burst.segments, burst.header_bytes, burst.payload_bytes, burst.last_payload_bytes},
              headers);
}

PacketKey* PacketKeys::receive_key(const Claim& claim, DropReason& reason) {
  bool apart = false;
  if (!is_new(claim, reason, apart)) return nullptr;
  PacketKey* key = session_->receive_key(claim.header.flags);
  if (key == nullptr) reason = DropReason::kBadTag;
  return key;
}

HeaderTags* PacketKeys::receive_tags(const Claim& claim, DropReason& reason, bool& apart) {
  if (!is_new(claim, reason, apart)) return nullptr;
  HeaderTags* tags = session_->receive_tags(claim.header.flags);
  if (tags == nullptr) reason = DropReason::kBadTag;
  return tags;
}

// A packet that arrived before is dropped without decrypting it: a flood of replays costs little.
bool PacketKeys::is_new(const Claim& claim, DropReason& reason, bool& apart) const {
  if (!session_) {
    reason = DropReason::kClosed;
    return false;
  }
  const ConnectionHeader& header = claim.header;
  const bool control = header.type == PacketType::kControl;
  const bool numbered = !control || (header.flags & kFlagNumbered) != 0;
  if (header.path >= claim.received.paths() || header.number == 0 || header.number > INT64_MAX) {
    reason = DropReason::kBadField;
    return false;
  }
  Novelty novelty = Novelty::kNew;
  if (numbered) {
    const uint64_t last = header.number + claim.segments - 1;
    novelty = claim.received.judge(header.path, header.number, last);
  } else if (!session_->is_new(header.number)) {
    novelty = Novelty::kDuplicate;
  }
  apart = novelty == Novelty::kMixed;
  reason = novelty == Novelty::kTooOld ? DropReason::kTooOld : DropReason::kDuplicate;
  return novelty == Novelty::kNew;
}

void PacketKeys::note_authentic(const ConnectionHeader& header) {
  confirmed_ = true;
  session_->note_authentic(header.flags);
}

bool PacketKeys::accept_unnumbered(uint64_t number) {
  if (!session_->is_new(number)) return false;
  session_->note_unnumbered(number);
  return true;
}

}  // namespace heddle::transport
