// Constants of judgement of extensions, by the extension: unit, source, range. The form is that of
// transport/params.h; receiver credits have credits/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::transport::params {

// --- discovery of routes by a connection (path_discovery.h) ---
namespace path_discovery {

// Paths of each route that carry payload once the routes are known. With fewer, a loss on one of
// them reduces the window by more. Measured: four and eight links of 200 Mb/s at MTU 1500 are used
// to 88 to 89% with 2 a route, 98% with 4 (worst of twelve 91%) and 98% with 8 (98%). Range: 4 to
// 16.
inline constexpr uint16_t kPathsARoute = 8;
// Paths of a connection from which on it discovers routes by itself: with fewer, one route cannot
// be distinguished from two. Chosen: two routes look like one in 1 of 128 cases. Range: 4 to 32.
inline constexpr uint16_t kFewestPaths = 8;
// After a path failed or recovered, routes are discovered again after this time: switches need some
// time to agree on new ones. Chosen: routing protocols settle within a few seconds. Range: 500 ms
// to 10 s.
inline constexpr Nanos kAfterChange = seconds(2);
// Routes are discovered again after this time, since switches may spread entropies anew without any
// path failing. Chosen: a discovery takes up to discovery::kMostProbes packets. Range: 5 to 600 s.
inline constexpr Nanos kInterval = seconds(60);

}  // namespace path_discovery

// --- remote writes (remote_writes.h) ---
namespace remote_writes {

// Bytes from which on a message is written remotely. Chosen: a datagram or two cost less than the
// grant and the fence of a write. Range: 512 to 16,384.
inline constexpr uint32_t kLeastWritten = 2048;
// How long a complete message waits for a later write of the same path to fence it, before it
// requests a fence. Chosen: above a round trip of a fabric. Range: 100 us to 10 ms.
inline constexpr Nanos kFenceDelay = millis(1);
// The longest chunk in units: fewer units lose less with a packet, and cost more requests. Four of
// 8 KiB are the least chunk of UCCL-Tran's range (32 to 64 KiB). Range: 2 to 8.
inline constexpr uint32_t kMostUnits = 4;
// Chunks are halved as soon as kLostOfCounted of kCounted were lost, and doubled after kCounted
// without a loss: with packets of 4 KiB that is 0.4% of packets at 32 KiB. Chosen so that 0.1% of
// packets leaves chunks long and 1% makes them short (chunk_size_test.cc). Range: 64 to 512; a 64th
// to a 16th of it.
inline constexpr uint32_t kCounted = 128;
inline constexpr uint32_t kLostOfCounted = 4;

}  // namespace remote_writes

// --- trimmed packets (trimming.h) ---
namespace trimming {

// Reports of trimmed packets that wait to be sent; more are dropped, and the loss is detected
// without them. Chosen: a burst's segments. Range: 16 to 1,024.
inline constexpr size_t kMostReports = 64;

}  // namespace trimming

}  // namespace heddle::transport::params
