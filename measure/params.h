// Constants of judgement of ping, perf and routes, by the part that uses them: unit, source, range.
// Those of probes are in probe_params.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::measure::params {

// --- arrivals (arrival_timeline.h) ---

// The first interval, and intervals of a timeline before they double. Chosen: a failure of a link
// that matters to a job is longer, and 20 s fit before they double. Range: 1 to 100 ms; 128 to
// 8,192.
inline constexpr Nanos kFirstInterval = millis(20);
inline constexpr size_t kMostIntervals = 1024;

// --- the client (client.cc) ---

// How soon a signal is seen. Chosen: a user does not notice it. Range: 10 ms to 0.5 s.
inline constexpr Nanos kSlice = millis(100);
// How long a close waits for the server's answer. Chosen: above the retransmissions of a lossy
// link, below what a user waits for. Range: 0.5 to 10 s.
inline constexpr Nanos kGoodbye = seconds(2);

// --- control messages (control.h, control.cc) ---

// The longest test that a server takes part in, ns. Chosen: a day. Range: an hour to a month.
inline constexpr int64_t kLongestTestNs = 86'400'000'000'000;
// Bytes of a message: of any, of which a result with its timeline is the longest (1,024 numbers),
// and of what a client asks. Chosen. Range: 16 KiB to 1 MiB; 1 to 64 KiB.
inline constexpr size_t kMaxControlBytes = 64 << 10;
inline constexpr size_t kMaxRequestBytes = 4096;
// The most messages in flight of a bandwidth test. Chosen: below the operations that a connection
// may have outstanding. Range: 128 to 4,096.
inline constexpr uint32_t kMostWindow = 1024;
// Answers that wait for a client that takes none. Chosen: a client asks one thing at a time. Range:
// 2 to 64.
inline constexpr size_t kMaxAnswersWaiting = 4;

// --- echoes (echo.h) ---

// Receives that both sides keep posted: one for the message in flight, and one that is posted
// before the next arrives. Range: 2 to 16.
inline constexpr uint32_t kEchoWindow = 2;

// --- tests (measurement.cc) ---

// The window of a bandwidth test: messages of these bytes together, at most these messages, and one
// alone above the third. Chosen: 8 MiB are 100 Gb/s over 0.6 ms; above 256 MiB two messages take
// the memory of a small host. Range: 1 to 64 MiB; 16 to 1,024; 64 MiB to 1 GiB.
inline constexpr uint64_t kBytesInFlight = 8 << 20;
inline constexpr uint32_t kMostMessages = 128;
inline constexpr uint64_t kLargeMessage = 256 << 20;
// Between two lines of progress. Chosen: what a user can read. Range: 0.1 to 2 s.
inline constexpr Nanos kShowEvery = millis(500);
// Rounds of a latency test that warm caches up; a tenth of its time at most. Chosen. Range: 10 to
// 10,000.
inline constexpr int kWarmUpRounds = 100;

// --- routes (routes.cc) ---

// Between two looks for routers that answered, and for signals. Chosen. Range: 1 to 100 ms.
inline constexpr Nanos kRoutesSlice = millis(20);
// Bytes of an echo over a route, and echoes whose least and median are reported. Chosen: small
// messages see the network and no window. Range: 1 to 1,024; 3 to 100.
inline constexpr uint64_t kRouteMessageBytes = 64;
inline constexpr uint32_t kRouteRounds = 10;

// --- the server (server/session.h, server/session.cc, stream.cc) ---

// What a session holds besides its test, bytes: its buffers, answers that wait, and a result; and
// what it holds for the record of each message of a test. stranger_memory_test.cc measures that
// sessions stay below. Range: 64 to 512 KiB; 256 to 4,096.
inline constexpr uint64_t kSessionBytes = 96 << 10;
inline constexpr uint64_t kRecordBytes = 512;
// Refused requests after which a client is disconnected. Chosen. Range: 1 to 1,000.
inline constexpr uint32_t kMostRefusals = 16;
// A client introduces itself within this. Chosen: above the handshake timeout, as relays. Range: 1
// to 60 s.
inline constexpr Nanos kIntroduceWithin = seconds(10);
// Bytes for which memory is found, or which are filled, before others have their turn. Chosen: some
// milliseconds. Range: 1 to 64 MiB.
inline constexpr uint64_t kFoundAtATime = 16 << 20;

}  // namespace heddle::measure::params
