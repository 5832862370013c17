// Constants of judgement of publishing and subscribing: unit, source, reasonable range.
#pragma once

#include <cstddef>

#include "base/nanos.h"

namespace heddle::messaging::params {

// Messages and bytes that wait for a server. The state of a job of 10,000 ranks is some 4 MB of
// series each 10 s, so this is half a minute without a server. Range 1,000 to 100,000; 1 MiB to
// 1 GiB.
inline constexpr size_t kMostWaiting = 10'000;
inline constexpr size_t kMostWaitingBytes = size_t{16} << 20;
// That were received and not taken yet.
inline constexpr size_t kMostReceived = 10'000;
inline constexpr size_t kMostReceivedBytes = size_t{64} << 20;
// Sent before the server is asked whether it has all of them. Range 10 to 10,000.
inline constexpr size_t kMostAtOnce = 500;
// And bytes: 1 Mbit/s carries them within the time for an answer. Range 64 KiB to 4 MiB.
inline constexpr size_t kMostBytesAtOnce = size_t{256} << 10;
// How long the last state is repeated without a new one: a look at many ranks may take its time,
// and a monitor that hangs must be seen. Range 10 to 300 s.
inline constexpr Nanos kLongestRepeat = seconds(60);

// For each step of a connection, and for an answer. Range 1 to 10 s.
inline constexpr Nanos kAnswerWithin = seconds(3);
// For all of a connection; then it is left alone. libnats 3.4 bounds each step by the above, but
// neither the resolver's nor the handshake of TLS. Range 3 to 60 s.
inline constexpr Nanos kConnectWithin = seconds(10);
// That were left alone, each with a thread and a socket. Range 2 to 64.
inline constexpr int kMostAbandoned = 8;
// Until a server is tried again, doubled up to the longest. Range 0.1 to 2 s; 2 to 60 s.
inline constexpr Nanos kFirstRetry = millis(250);
inline constexpr Nanos kLongestRetry = seconds(5);
// A connection on which nothing is sent is asked for a sign of life this often; it is lost when two
// are not answered. Range 1 to 30 s.
inline constexpr Nanos kSignOfLife = seconds(2);
// How long a thread that waits for messages does not look for the end. Range 10 to 200 ms.
inline constexpr Nanos kLook = millis(50);

// Servers of a list, characters of a subject, and of a name that becomes a part of one. Chosen:
// NATS advises subjects of at most 256 characters. Range: 4 to 64; 64 to 256; 32 to 128.
inline constexpr size_t kMostServers = 16;
inline constexpr size_t kLongestSubject = 128;
inline constexpr size_t kLongestToken = 100;

}  // namespace heddle::messaging::params
