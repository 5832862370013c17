// Bounds of relayed sessions, each with its unit and reason.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::relaying::params {

inline constexpr uint16_t kVersion = 1;   // of frames, in each hello
inline constexpr uint16_t kPort = 18704;  // of relays

// Most payload of a frame. With its head it fits into an eager block of the transport (32 KiB and
// 64 bytes), so a session's first frames travel ahead of grants. Range: 4 to 64 KiB.
inline constexpr size_t kPayloadBytes = 32 << 10;
inline constexpr size_t kFrameBytes = kPayloadBytes + 64;

// Payload of a frame of a message: an eighth of it, within kLeastPayloadBytes and kPayloadBytes. A
// relay forwards a frame when it is complete, so each hop adds the time of one; `bench/run relay`
// measures it. Range of the least: 4 KiB to kPayloadBytes.
inline constexpr size_t kLeastPayloadBytes = 8 << 10;
inline constexpr uint64_t kPiecesToCut = 8;

// Frames of a session at one of its ends: 8 MiB that arrive, which fill 6 Gb/s over a round trip of
// 10 ms (1,000 km), and 4 MiB in flight to the next hop. Range: 16 to 2,048.
inline constexpr uint32_t kFramesIn = 256;
inline constexpr uint32_t kFramesOut = 128;
// Bytes of messages that arrived before the program posted a receive. Beyond it no frame is taken.
inline constexpr size_t kEarlyBytes = 4 << 20;
inline constexpr size_t kEarlyRecordBytes = 128;  // counted for each of them, for its record
inline constexpr uint16_t kChannels = 64;         // of a session, as of a connection
// Operations outstanding of an end, in each direction, as of a connection.
inline constexpr size_t kMostPosted = 4096;
inline constexpr uint64_t kLongestMessage = uint64_t{1} << 30;
// Frames after which their arrival is confirmed within a message. Range: 4 to 64.
inline constexpr uint64_t kConfirmFrames = 16;

inline constexpr size_t kMostHops = 8;       // relays of a route, and its destination
inline constexpr size_t kLongestHop = 255;   // bytes of "HOST:PORT"
inline constexpr size_t kLongestText = 512;  // bytes of a refusal's what, why and todo each

// An end connects again after this time, doubled up to the second. Range: 10 ms to 10 s.
inline constexpr Nanos kFirstRetry = millis(50);
inline constexpr Nanos kLongestRetry = seconds(1);
// An end keeps its session without a connection for this time. Range: 1 s to 10 min.
inline constexpr Nanos kReconnectTimeout = seconds(30);
// A new connection sends its hello within this time.
inline constexpr Nanos kIntroduceWithin = seconds(10);
// A relay forwards what it holds of an ended session within this time.
inline constexpr Nanos kGoodbye = seconds(3);
inline constexpr size_t kMostStrangers = 16;  // connections at a time that sent no hello yet

// Frames of a session and direction, at least and at most, the second below the transport's
// max_posted; and those of a session that is only refused. Chosen: as much memory as the sessions
// share. Range: 4 to 64; 256 to 16,384; 1 to 4.
inline constexpr uint32_t kLeastFrames = 16;
inline constexpr uint32_t kMostFrames = 2048;
inline constexpr uint32_t kFramesToRefuse = 2;
// Sessions beyond the limit that are sent a reason at a time. Chosen. Range: 4 to 256.
inline constexpr size_t kMostRefusing = 16;
// Frames of a port that only messages with priority may use. Chosen: one waits while another
// leaves. Range: 1 to 8.
inline constexpr size_t kPriorityFrames = 2;
// How soon a retry that is due is made. Chosen. Range: 1 to 100 ms.
inline constexpr Nanos kSlice = millis(20);
// A relay welcomes a session within this. Chosen: above the handshake timeout. Range: 5 to 60 s.
inline constexpr Nanos kWelcomeWithin = seconds(15);
// An aborted session has ended within this. Its last word leaves behind what is in flight, and
// where it does not arrive the other end waits for kReconnectTimeout. Measured: on two cores under
// six busy loops, 300 ms were too short in one of twelve copies. Range: 0.3 to 3 s.
inline constexpr Nanos kAbortWithin = seconds(1);

}  // namespace heddle::relaying::params
