// The frames of a control packet: acknowledgements and notices of trimmed packets (never
// acknowledged themselves), and reliable frames (retransmitted when their packet is lost).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/nanos.h"
#include "transport/placed.h"
#include "transport/wire/cursor.h"
#include "transport/wire/numbers.h"

namespace heddle::transport {

// Extensions read those of their kFrames, connection/control_receiver.cc the others.
enum class FrameType : uint8_t {
  kPadding = 0,   // fills up to the packet's end
  kAck = 1,       // one path's acknowledgement
  kAckTimes = 2,  // precedes kAck frames: when this packet's acknowledgements were made; the window
  kGrant = 3,     // receives are posted
  kCancelSend = 4,     // the sender withdrew a message
  kCancelReceive = 5,  // the receiver withdrew a posted receive
  kClose = 6,          // the sender of this frame is closing
  kPing = 7,           // answer me
  kPlacedGrant = 8,    // a receive is posted, and may be written remotely
  kFenced = 9,         // writes of earlier epochs are rejected on a path of the reader
  kAskFence = 10,   // a path of the writer has failed in its NIC: fence it; the NIC makes it anew
  kMessage = 11,    // a whole small message; its payload is the rest of the packet
  kDelivered = 12,  // answers kCancelSend: too late, the message is all here
  kDemand = 13,     // credits: what the writer wants to send
  kCredit = 14,     // credits: how far the reader may send
  kNicProbe = 15,   // NICs: answer at the address that this came from
  kNicAnswer = 16,  // NICs: what the probe carried
  kTrimmed = 17,    // of a packet only the header came: a switch had no room for the rest
};

// Reliable frames that answer one of the peer's, so that a peer can cause any number of them
// (ControlQueue::kMostAnswers); and those that have such an answer.
constexpr bool is_answer(FrameType type) {
  return type == FrameType::kDelivered || type == FrameType::kCancelReceive ||
         type == FrameType::kFenced;
}
constexpr bool has_answer(FrameType type) {
  return type == FrameType::kCancelSend || type == FrameType::kAskFence;
}

// One run of received numbers, both ends included.
struct NumberRange {
  uint64_t low = 0;
  uint64_t high = 0;
};

inline constexpr size_t kMaxAckRanges = 16;

// In acknowledgements chunk paths (transport/placed.h) are named from here on.
inline constexpr uint16_t kFirstChunkPathName = 0x8000;

// When the newest segment arrived was in an acknowledgement before: its sender measures nothing.
inline constexpr Nanos kReportedBefore = Nanos::never();

// What a receiver says about one path of its peer.
struct AckFrame {
  uint16_t path = 0;
  Nanos echoed_sent_at;     // of the newest segment, as its header had it
  Nanos received_at;        // when that arrived, by the receiver's clock; or kReportedBefore
  uint32_t marked = 0;      // segments that arrived with a congestion mark, since the start (wraps)
  uint8_t range_count = 0;  // 1 to kMaxAckRanges
  std::array<NumberRange, kMaxAckRanges> ranges;  // newest first, apart from each other
};

struct AckTimes {
  Nanos made_at;              // by the acknowledging host's clock
  uint64_t window_bytes = 0;  // what the peer may have in flight towards this host
};

struct GrantFrame {
  uint16_t channel = 0;
  Sequence first_sequence;
  uint16_t count = 0;     // number of receives, with consecutive sequence numbers
  uint32_t capacity = 0;  // bytes that each may take
};

struct PlacedGrantFrame {
  uint16_t channel = 0;
  Sequence sequence;
  uint32_t capacity = 0;
  uint8_t slot = 0;            // names this receive in immediates
  uint64_t remote_offset = 0;  // of the buffer in the region that the token names
  MemoryToken token;
};

// A message of one packet, travelling with the frames before it.
struct MessageFrame {
  uint16_t channel = 0;
  Sequence sequence;
};

struct FenceFrame {
  uint16_t path = 0;  // chunk path, counted from 0
  PathEpoch epoch;    // in 32 bits on the wire
};

struct TrimFrame {
  uint16_t path = 0;
  uint64_t number = 0;
};

enum class CancelReason : uint8_t { kCancelled = 0, kTruncated = 1 };

struct CancelFrame {
  uint16_t channel = 0;
  Sequence sequence;
  CancelReason reason = CancelReason::kCancelled;
};

enum class CloseReason : uint8_t {
  kGraceful = 0,
  kAborted = 1,
  kProtocolError = 2,
  kFinished = 3,
  kUnheard = 4,  // the receiver of this frame was silent and declared dead
};

inline constexpr size_t kAckTimesBytes = 1 + 16;
inline constexpr size_t kGrantBytes = 1 + 12;
inline constexpr size_t kCancelBytes = 1 + 7;
inline constexpr size_t kMessageFrameBytes = 1 + 6;
inline constexpr size_t kCloseBytes = 1 + 1;
inline constexpr size_t kTrimBytes = 1 + 10;
inline constexpr size_t kLargestFrameBytes = 1 + 20 + 32;  // a placed grant; acknowledgements apart

void write_ack(const AckFrame& frame, Writer& writer);
void write_ack_times(const AckTimes& times, Writer& writer);
void write_grant(const GrantFrame& frame, Writer& writer);
void write_cancel(FrameType type, const CancelFrame& frame, Writer& writer);
void write_close(CloseReason reason, Writer& writer);
void write_placed_grant(const PlacedGrantFrame& frame, Writer& writer);
void write_message(const MessageFrame& frame, Writer& writer);
void write_fence(FrameType type, const FenceFrame& frame, Writer& writer);
void write_trim(const TrimFrame& frame, Writer& writer);

// Each reads what follows the type byte; false: malformed.
bool read_ack(Reader& reader, AckFrame& frame);
bool read_ack_times(Reader& reader, AckTimes& times);
bool read_grant(Reader& reader, GrantFrame& frame);
bool read_cancel(Reader& reader, CancelFrame& frame);
bool read_close(Reader& reader, CloseReason& reason);
bool read_placed_grant(Reader& reader, PlacedGrantFrame& frame);
bool read_message(Reader& reader, MessageFrame& frame);
bool read_fence(Reader& reader, FenceFrame& frame);
bool read_trim(Reader& reader, TrimFrame& frame);

}  // namespace heddle::transport
