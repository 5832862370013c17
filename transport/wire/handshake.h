// The packets that make a connection. Parameters are type-length-value, so that a later version can
// add one that an older one skips. An init is padded to kInitBytes, so that no answer to it is
// larger than itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "transport/address.h"
#include "transport/protection.h"
#include "transport/refusal.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

inline constexpr size_t kInitBytes = 512;
inline constexpr size_t kCookieBytes = 24;
inline constexpr size_t kMaxNameBytes = 15;
// The most posted receives of a peer for which the other side keeps state.
inline constexpr uint32_t kMostPosted = 1u << 14;

inline constexpr size_t kHostBytes = sizeof(Address::host);
inline constexpr size_t kKeyNonceBytes = 16;
inline constexpr size_t kMacBytes = 16;
using KeyId = std::array<std::byte, 8>;
using KeyNonce = std::array<std::byte, kKeyNonceBytes>;

// With cluster keys: which key, a nonce of its own for the session keys, and where in the packet
// the proof stands. The proof itself is not part of it: it is over the whole packet.
struct KeyParameters {
  bool present = false;
  KeyId id{};
  KeyNonce nonce{};
  uint8_t protection = static_cast<uint8_t>(Protection::kFull);
  size_t mac_at = 0;  // read: offset in the packet
};

// Feature bits.
inline constexpr uint64_t kFeatureEncryption = 1;
// Receiver credits: wished for in an init, agreed in an accept.
inline constexpr uint64_t kFeatureCredits = uint64_t{1} << 1;
// Packets of a connection may go between any of the NICs that both sides advertised.
inline constexpr uint64_t kFeatureNics = uint64_t{1} << 2;
// It reads frame 17 (kTrimmed).
inline constexpr uint64_t kFeatureTrims = uint64_t{1} << 3;

// What each side says about itself.
struct HandshakeParameters {
  uint16_t max_paths = 1;           // entropies of the peer that it keeps state for
  uint32_t max_datagram_bytes = 0;  // the largest it can receive
  uint64_t window_bytes = 0;        // its receive capacity for this peer, to begin with
  uint32_t max_channels = 0;
  uint32_t max_posted = 0;         // operations it has posted at a time; at most kMostPosted
  uint32_t eager_block_bytes = 0;  // the largest message it takes ahead of a receive
  uint16_t eager_blocks = 0;       // and how many of these
  uint16_t chunk_paths = 0;        // number of its paths for remote writes; 0: none
  uint32_t chunk_bytes = 0;        // the largest write that it sends or takes
  uint64_t first_credit = 0;  // that the other side holds to begin with, where credits are agreed
  uint64_t features = 0;      // bits of what it can do beyond version 1; unknown ones are ignored
  std::array<char, kMaxNameBytes + 1> congestion{};  // wished for in both directions
  // Its NICs, Address::host of each, kHostBytes apart; none where it has one. Of a packet that was
  // read: within that packet.
  std::span<const std::byte> nics;
  KeyParameters key;
};

struct InitPacket {
  uint16_t reply_port = 0;
  uint32_t connection = 0;  // the initiator's id, for recordings
  WireId wire_id = 0;       // that its packets are to carry
  uint64_t nonce = 0;       // comes back in every answer
  Nanos sent_at;
  bool has_cookie = false;
  std::array<std::byte, kCookieBytes> cookie{};
  HandshakeParameters parameters;
};

struct RetryPacket {
  uint32_t connection = 0;  // the initiator's id
  uint64_t nonce = 0;
  std::array<std::byte, kCookieBytes> cookie{};
  bool proven = false;  // room for a proof follows
};

struct AcceptPacket {
  uint16_t reply_port = 0;
  uint32_t connection = 0;   // the initiator's id
  uint32_t accepted_as = 0;  // the acceptor's id, for recordings
  WireId wire_id = 0;        // that packets to it are to carry
  uint64_t nonce = 0;
  Nanos echoed_sent_at;
  HandshakeParameters parameters;
};

struct RefusePacket {
  uint32_t connection = 0;  // the initiator's id
  uint64_t nonce = 0;
  RefuseReason reason = RefuseReason::kNotAccepting;
  bool proven = false;  // room for a proof follows
};

struct VersionPacket {
  uint32_t connection = 0;
  uint64_t nonce = 0;
  uint8_t lowest = kWireVersion;
  uint8_t highest = kWireVersion;
};

struct ResetPacket {
  WireId connection = 0;  // an unknown connection
  uint16_t path = 0;      // of the packet that named it
  uint64_t number = 0;
};

// Offset of the initiator's id in every packet of a handshake, of any version.
inline constexpr size_t kHandshakeIdAt = 4;

// Offset of the proof in a retry and a refusal.
inline constexpr size_t kRetryMacAt = 16 + kCookieBytes;
inline constexpr size_t kRefuseMacAt = 17;

// Each returns the size of the packet, written into `space` (at least kInitBytes). A proof of a key
// is left as zeros; `mac_at` returns its offset if the packet has key parameters.
size_t write_init(const InitPacket& packet, std::span<std::byte> space);
size_t write_init(const InitPacket& packet, std::span<std::byte> space, size_t& mac_at);
size_t write_retry(const RetryPacket& packet, std::span<std::byte> space);
size_t write_accept(const AcceptPacket& packet, std::span<std::byte> space);
size_t write_accept(const AcceptPacket& packet, std::span<std::byte> space, size_t& mac_at);
size_t write_refuse(const RefusePacket& packet, std::span<std::byte> space);
size_t write_version(const VersionPacket& packet, std::span<std::byte> space);
size_t write_reset(const ResetPacket& packet, std::span<std::byte> space);

// Each reads a whole packet of its type; false: malformed.
bool read_init(std::span<const std::byte> bytes, InitPacket& packet);
bool read_retry(std::span<const std::byte> bytes, RetryPacket& packet);
bool read_accept(std::span<const std::byte> bytes, AcceptPacket& packet);
bool read_refuse(std::span<const std::byte> bytes, RefusePacket& packet);
bool read_version(std::span<const std::byte> bytes, VersionPacket& packet);
bool read_reset(std::span<const std::byte> bytes, ResetPacket& packet);

}  // namespace heddle::transport
