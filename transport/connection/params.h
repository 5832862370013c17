// Constants of judgement of connections, by the part that uses them: unit, source, range. The form
// is that of transport/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::transport::params {

// --- the handshake (handshake.h) ---
namespace handshake {

// An init without an answer is retransmitted after the first, then after twice as long, up to the
// second. Chosen: above a round trip between two sites, and a host that starts answers within the
// second. Range: 10 ms to 1 s (RFC 6298 section 2.1); 100 ms to 3 s.
inline constexpr Nanos kInitTimeout = millis(50);
inline constexpr Nanos kLongestInitTimeout = millis(250);
// Inits without an answer that leave alone. Each later one leaves on two paths: where half of the
// paths are dead, both round trips of a handshake come through one in four times. Chosen: one loss
// or a peer that starts late is no dead path. Range: 1 to 8.
inline constexpr uint8_t kInitsAlone = 3;
// Inits that use one cookie before another is requested: the peer may have a new secret. Chosen:
// below the cookie's lifetime. Range: 2 to 16.
inline constexpr uint8_t kInitsACookie = 4;
// Segments of the initial window: RFC 6928, and here at least a burst, since a burst is what leaves
// at once. Range: 2 to 10.
inline constexpr uint64_t kInitialSegments = 10;

}  // namespace handshake

// --- bursts of payload (burst_sender.h) ---
namespace bursts {

// Bytes of the rest of a message that may leave while the acknowledgement of what left is deferred:
// sent packets are remembered until they are acknowledged. Chosen: eight bursts. Range: 64 KiB to
// 4 MiB.
inline constexpr uint64_t kMostDeferredBytes = 512 * 1024;
// Bytes of the largest message that shares its packet with other frames, where the path passes
// packets that large. Chosen: an MTU of 9,000 passes it twice. Range: 512 to 8,192.
inline constexpr uint32_t kMessageBytes = 4096;
// Bytes that such a packet keeps for acknowledgements and grants. Chosen: an acknowledgement of two
// paths with all ranges (2 x 156) and times (17), the message's frame (7) and three grants (39) are
// 375. Range: 180, of one path without grants, to 600.
inline constexpr uint32_t kRoomBesideMessage = 380;

}  // namespace bursts

// --- frames that wait (control_queue.h) ---
namespace control {

// Answers to frames of the peer that may wait or be in flight, beside one for each operation that
// is posted here. Chosen: bounds memory (stranger_budget.h), above what a peer that follows the
// protocol makes due in a round trip. Range: 64 to 16,384.
inline constexpr size_t kMostAnswers = 1024;

}  // namespace control

// --- whether the peer lives (keep_alive.h, ending.h) ---
namespace liveness {

// An idle connection checks its peer this many times less often than one with operations. Chosen:
// an idle job of 1,000 hosts sends little. Range: 2 to 30.
inline constexpr int64_t kIdleFactor = 10;
// "Port unreachable" is believed when nothing is heard for this time after it. Chosen: above a PTO,
// since any host can send one message of ICMP. Range: 50 ms to 2 s.
inline constexpr Nanos kPortClosedFor = millis(200);
// Final close frames to a peer that is considered dead: it may still receive, and would else notice
// only when its own probes go unanswered. Chosen: one arrives where half of the paths are dead.
// Range: 3 to 16.
inline constexpr uint8_t kFinalPacketsToDead = 8;

}  // namespace liveness

// --- strangers and sharing (endpoint/body.h) ---
namespace endpoint {

// Answers to strangers that may wait; more are dropped. Chosen: bounds memory, and the peer asks
// again. Range: 16 to 1,024.
inline constexpr size_t kMaxReplies = 64;
// Resets a millisecond, at most. Chosen: a thousand peers of a process that restarted learn of it
// within a quarter of a second, and a flood of strays costs little. Range: 1 to 100.
inline constexpr uint32_t kResetsPerMilli = 8;
// Time after its last payload in which a connection counts as receiving, so that it has a share of
// the socket's capacity. Chosen: above a round trip, below the pause between training steps. Range:
// 10 to 500 ms.
inline constexpr Nanos kReceivingFor = millis(50);

}  // namespace endpoint

// --- bounds of a listener's memory (stranger_budget.h) ---
// Bytes beyond the sizes of the types. Measured: apps/cli/service/stranger_memory_test.cc compares
// their sum with what a listener takes. Range: from what it takes to twice that.
namespace stranger {

inline constexpr uint64_t kBookkeeping = 2048;  // controller, selector, tables here and in engine/
inline constexpr uint64_t kChannel = 256;       // of both directions, with slots of small rings
inline constexpr uint64_t kPath = 128;          // what is sent and received on it
// Of an engine: replies, notices, completions, placements, rings that grow.
inline constexpr uint64_t kQueues = 4 << 20;
inline constexpr size_t kNamedBytes = 48;   // a node of the map by name, and its bucket
inline constexpr size_t kReplayBytes = 64;  // a handshake that is remembered

}  // namespace stranger

}  // namespace heddle::transport::params
