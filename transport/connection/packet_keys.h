// PacketKeys: what cluster keys add to a connection: its session, the key that protects each burst,
// and the key that a received packet claims. Without cluster keys every packet leaves in clear.
#pragma once

#include <memory>

#include "transport/connection/identity.h"
#include "transport/connection/shared.h"
#include "transport/recovery/acknowledgements.h"
#include "transport/security/session.h"
#include "transport/tx_batch.h"

namespace heddle::transport {

class PacketKeys {
 public:
  PacketKeys(Shared& shared, const ConnectionIdentity& identity)
      : shared_(shared), identity_(identity) {}
  ~PacketKeys();  // bursts of the latest batch may still name its key
  PacketKeys(const PacketKeys&) = delete;
  PacketKeys& operator=(const PacketKeys&) = delete;

  // --- the handshake ---
  void set_cluster_key(std::shared_ptr<const RingKey> key) { cluster_key_ = std::move(key); }
  // The key that proves the packets of the handshake; null: it is not keyed.
  const RingKey* cluster_key() const { return cluster_key_.get(); }
  void set_initiator_nonce(const KeyNonce& nonce) { initiator_nonce_ = nonce; }
  const KeyNonce& initiator_nonce() const { return initiator_nonce_; }
  // Derives the session keys, where the handshake is keyed.
  void begin_session(const KeyNonce& acceptor_nonce);
  bool active() const { return session_ != nullptr; }
  // Whether the peer has shown that it has the session's keys.
  bool confirmed() const { return confirmed_; }

  // --- sending ---
  // The key of the next burst of `segments`, before its headers are written; null: in clear.
  PacketKey* send_key(Nanos now, uint32_t segments);
  // Whether the peer has to acknowledge something before the next key may be used.
  bool wants_proof() const;
  uint8_t epoch_flags() const { return session_ ? session_->epoch_flags() : 0; }
  // The number of the next packet without a packet number; 0: in clear it has none.
  uint64_t next_unnumbered();
  // Authenticates the data headers of a burst, or lets the burst name `key` where payload is
  // encrypted.
  void protect(TxBurst& burst, std::byte* headers, PacketKey* key);
  // A packet that was sent then is acknowledged.
  void on_acked(Nanos sent_at) {
    if (session_ && sent_at > epoch_began_at_) session_->prove();
  }

  // --- sizes ---
  // Whether tags follow data headers, instead of encrypted payload.
  bool tags_headers() const {
    return session_ && shared_.options.protection == Protection::kHeaders;
  }
  uint32_t tag_bytes() const { return session_ ? kTagBytes : 0; }
  // Of a data segment: everything but its payload.
  uint32_t data_header_bytes() const { return kDataHeaderBytes + tag_bytes(); }
  // The part of that which is written before the payload.
  uint32_t written_header_bytes() const {
    return tags_headers() ? data_header_bytes() : kDataHeaderBytes;
  }

  // --- receiving ---
  // `segments` packets whose first has this header, and their numbers' history.
  struct Claim {
    const ConnectionHeader& header;
    uint32_t segments;
    const AckManager& received;
  };
  // The key that a packet claims; null, and `reason`: it need not be decrypted.
  PacketKey* receive_key(const Claim& claim, events::DropReason& reason);
  // The same for data packets whose payload is not protected. `apart`: some of them arrived before,
  // so that each is to be claimed alone.
  HeaderTags* receive_tags(const Claim& claim, events::DropReason& reason, bool& apart);
  // A packet with this header was authenticated: it is from the peer.
  void note_authentic(const ConnectionHeader& header);
  // Whether a packet without a packet number is no replay; then it is remembered.
  bool accept_unnumbered(uint64_t number);

 private:
  bool is_new(const Claim& claim, events::DropReason& reason, bool& apart) const;

  Shared& shared_;
  const ConnectionIdentity& identity_;
  std::shared_ptr<const RingKey> cluster_key_;
  KeyNonce initiator_nonce_{};
  std::unique_ptr<Session> session_;
  Nanos epoch_began_at_;  // of the sending key
  bool confirmed_ = false;
};

}  // namespace heddle::transport
