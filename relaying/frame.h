// Frames: what the ends of a relayed session and the relays between them send each other. A frame
// is a message of the transport, little-endian: one byte of kind, then its fields. Relays read the
// first frame of a session only. Every length is checked before it is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::relaying {

// Drawn by the initiator from a cryptographic generator: knowing it allows taking a session over.
using SessionId = std::array<std::byte, 16>;

// 1 was a hello without a version.
enum class FrameKind : uint8_t {
  kWelcome = 2,  // the acceptor's answer
  kData,         // a piece of a message
  kConfirm,      // which pieces have arrived
  kBye,          // the session has ended, and everything was confirmed
  kRefuse,       // a relay or the acceptor ends the attempt, with a reason
  kHello,        // initiator to acceptor, first on a connection; params::kVersion comes first
};

struct Hello {
  SessionId session{};
  uint64_t attempt = 0;           // of the initiator, from 1
  uint64_t received = 0;          // data frames that the initiator has
  std::vector<std::string> hops;  // "HOST[:PORT]" that are left; the last one is the destination
};

struct Piece {
  uint16_t channel = 0;
  uint32_t offset = 0;         // in the message
  uint32_t message_bytes = 0;  // of the whole message
  uint64_t sequence = 0;       // over all channels of a direction, from 0
};

// Only the fields of its kind have a meaning.
struct Frame {
  FrameKind kind = FrameKind::kBye;
  Hello hello;
  Piece piece;                         // kData
  std::span<const std::byte> payload;  // kData: within the frame read
  uint64_t received = 0;  // kWelcome, kConfirm: data frames that the sender of this has
  Error error;            // kRefuse
};

// Errors: kInvalid (no such frame; a piece that reaches beyond its message), kVersion (a hello of
// another version, with the side to upgrade).
Result<Frame> read_frame(std::span<const std::byte> bytes);
// Writes a frame; returns its length. CHECKs that it fits: params::kFrameBytes always suffice.
// Texts and hops beyond their limits are cut.
size_t write_frame(std::span<std::byte> space, const Frame& frame);

}  // namespace heddle::relaying
