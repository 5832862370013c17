// Session: the keys of one connection, derived from a cluster key and the nonces of both sides in
// the handshake. Each direction has a secret of its own; each secret yields a sequence of keys, one
// per epoch, and every packet names the epoch of its key. A sender begins the next epoch after a
// number of packets, but only when the peer has shown that it has the current one, so that a
// receiver never has to know more than one key ahead.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "transport/packet_key.h"
#include "transport/params.h"
#include "transport/protection.h"
#include "transport/security/header_tags.h"
#include "transport/security/hkdf.h"
#include "transport/security/key_ring.h"

namespace heddle::transport {

// What makes two sessions of one cluster key different.
struct SessionNames {
  KeyNonce initiator_nonce{};
  KeyNonce acceptor_nonce{};
  uint32_t initiator_id = 0;
  uint32_t acceptor_id = 0;
  // Sides that mean different levels have no key in common.
  Protection protection = Protection::kFull;
};

// Keys that bursts may still name; the endpoint forgets them when it is asked for a batch again.
using RetiredKeys = std::vector<std::unique_ptr<PacketKey>>;

class Session {
 public:
  Session(const RingKey& key, const SessionNames& names, bool initiator);
  ~Session();

  // --- encryption ---
  // The key for `packets` packets more. Past `limit` packets of one key, and if the peer has the
  // current one, it is of the next epoch; the key before goes to `retired`.
  PacketKey& send_key(uint32_t packets, uint64_t limit, RetiredKeys& retired);
  // The epoch in the flags of a packet, as the key that send_key() gave last wants it.
  uint8_t epoch_flags() const { return static_cast<uint8_t>(send_.epoch << 4); }
  // The peer has acknowledged something that left under the current key.
  void prove() { proven_ = true; }
  bool proven() const { return proven_; }
  // The current key has encrypted more than `limit` packets, and the peer has not proven that it
  // has the key.
  bool wants_proof(uint64_t limit) const { return !proven_ && encrypted_ > limit; }
  // For packets without a packet number: each gets one of these.
  uint64_t next_unnumbered() { return next_unnumbered_++; }
  void retire(RetiredKeys& retired) { retired.push_back(std::move(send_.keys.packet)); }
  // Authenticates data headers under the key that send_key() returned last; null: data packets are
  // encrypted and authenticated as a whole.
  HeaderTags* tags() { return send_.keys.tags.get(); }

  // --- decryption ---
  // The key that a packet with these flags claims; null: no such epoch is awaited.
  PacketKey* receive_key(uint8_t flags);
  // The same for data packets whose payload is not protected.
  HeaderTags* receive_tags(uint8_t flags);
  // A packet with these flags was opened with it.
  void note_authentic(uint8_t flags);
  // Whether a packet without a packet number is new, by its place among those: not seen, and not
  // older than what is remembered. note_unnumbered() remembers it.
  bool is_new(uint64_t unnumbered) const;
  void note_unnumbered(uint64_t unnumbered);

 private:
  static constexpr uint64_t kRemembered = params::security::kRemembered;

  struct Keys {
    std::unique_ptr<PacketKey> packet;
    std::unique_ptr<HeaderTags> tags;  // where payload is not protected
  };
  // One direction: the secret of an epoch, its keys, and which it is, modulo 16.
  struct Direction {
    Secret secret{};
    Keys keys;
    uint8_t epoch = 0;
  };
  void make_keys(Direction& direction, PacketKey::Use use) const;
  Direction next_of(const Direction& direction, PacketKey::Use use) const;
  const Keys* claimed(uint8_t flags);

  const Protection protection_;
  Direction send_;
  uint64_t encrypted_ = 0;  // packets, with the current key
  bool proven_ = false;
  uint64_t next_unnumbered_ = 1;

  Direction receive_;
  std::unique_ptr<Direction> next_;  // made when a packet first claims it
  Keys previous_;                    // for packets that come late
  uint64_t newest_unnumbered_ = 0;
  std::array<uint64_t, kRemembered / 64> seen_{};  // by number modulo kRemembered
};

}  // namespace heddle::transport
