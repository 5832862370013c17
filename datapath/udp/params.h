// Constants of judgement of the UDP datapath: unit, source, reasonable range. Limits of the kernel
// and of packet formats stay with their code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::datapath::udp_params {

// --- the datapath (udp_datapath.cc) ---

// Part of a socket's receive buffer that is advertised as capacity. The kernel accounts for its own
// memory per packet, not for a datagram's bytes, and releases it late. SO_RCVBUF returns 425,984
// for the 212,992 bytes that any process may request on Debian. The share of it that held
// datagrams, measured on Linux 6.18 loopback at the worst moment of a steady flow, by datagram
// size:
//   64 bytes 6%, 200: 12%, 512: 30%, 1,000: 32%, 1,472: 48%, 4,000: 36%, 8,972: 40%;
//   runs of 62 KB (GRO) 62 to 92%.
// NICs that use a page per packet are near 25% at 1,472 bytes. So a quarter is advertised. It holds
// for datagrams of about 500 bytes or more; smaller ones should be counted as 500. Range: 3 to 8.
inline constexpr uint32_t kCapacityShare = 4;
// Paths of a datapath, each with a socket and a source port. Chosen: above the routes between two
// hosts of a fabric. Range: 64 to 256, as the setting `paths`.
inline constexpr uint16_t kMaxPaths = 256;
// The interface's MTU counts up to this number of bytes; a larger one must be requested. Chosen:
// Ethernet's jumbo frames; loopback has 65,536. Range: 1,500 to 9,216.
inline constexpr uint32_t kJumboMtu = 9000;
// Retry interval after a full interface queue. Chosen. Range: 20 us to 1 ms.
inline constexpr Nanos kNoBuffersRetry = micros(100);
// The send sockets' error queues are checked after kIdleTurnsPerCheck turns without input, or
// kBusyTurnsPerCheck times as many turns with input. Chosen. Range: 4 to 64; 8 to 128.
inline constexpr uint32_t kIdleTurnsPerCheck = 16;
inline constexpr uint32_t kBusyTurnsPerCheck = 32;

// --- sending (sender.cc, socket.cc) ---

// Internet paths forward this many bytes unfragmented, so permission to fragment has no effect.
// RFC 8899 section 5.1.2 (BASE_PLPMTU). Range: 1,200.
inline constexpr uint32_t kNeverCutBytes = 1200;
// The kernel reports an earlier packet's ICMP error on the next call; the call is then retried up
// to this number of times. Chosen. Range: 1 to 8.
inline constexpr int kSendAttempts = 3;
// Receive buffer of a send socket in bytes: enough for a few ICMP errors; the filter drops data.
// Chosen. Range: 4 to 256 KiB.
inline constexpr int kSendSocketReceiveBuffer = 32 * 1024;

// --- receiving (receiver.cc) ---

// A batch ends at this number of bytes: more would leave the cache before it is copied, and would
// delay acknowledgements. Chosen. Range: 64 to 512 KiB.
inline constexpr size_t kBatchBytes = 192 * 1024;
// Datagrams of one call; where each may be a run of datagrams (GRO), runs. Chosen. Range: 8 to 64;
// 1 to 8.
inline constexpr uint32_t kMaxFrames = 32;
inline constexpr uint32_t kMaxRowFrames = 4;
// Frames of up to this number of bytes are moved together, so that they take little of the arena.
// Chosen. Range: 512 to 4,096.
inline constexpr size_t kSmallBytes = 2048;
// Datagrams of one receive whose payload goes to the predicted place, each a header and its payload
// (scattering.h). Source: Linux coalesces up to 64 (UDP_GRO_CNT_MAX). Range: 8 to 510: a call takes
// 1,024 pieces (UIO_MAXIOV), and each pair is two of them.
inline constexpr uint32_t kMaxPairs = 64;
// Calls of one receive(), whatever arrives. Chosen. Range: 16 to 256.
inline constexpr uint32_t kMaxCalls = 64;
// With at least this number of bytes in a batch, data behind a full place waits for a new
// prediction: another turn costs less than its copy. Chosen. Range: 8 to 64 KiB.
inline constexpr size_t kWorthATurn = 16 * 1024;
// A wrong prediction that cost more than this number of bytes disables predictions for some
// batches, twice as many each time, up to kMaxDistrust. Chosen. Range: 1 to 16 KiB; 8 to 256.
inline constexpr uint32_t kCostlyBytes = 4096;
inline constexpr uint32_t kMaxDistrust = 64;

// --- sockets (path_socket.h, socket.h, probe_socket.h) ---

// Consecutive equal calls before a setting moves to the socket: a destination at first and at most,
// since the number doubles at every disconnect, and a mark. Chosen: a connect() costs as much as
// some calls with an address. Range: 8 to 256; 2^10 to 2^30; 8 to 256.
inline constexpr uint32_t kFirstPatience = 32;
inline constexpr uint32_t kMostPatience = 1u << 20;
inline constexpr uint32_t kMarkPatience = 32;
// Attempts to find a port that is free at all NICs. Chosen. Range: 4 to 64.
inline constexpr int kPortAttempts = 16;
// Bytes of a probe socket's buffers: for trains that arrive faster than they are read. Chosen: some
// 18 trains of 96 packets, for which the kernel charges 2,304 bytes each. Range: 1 to 16 MiB.
inline constexpr int kProbeBufferBytes = 4 << 20;
// Errors of the network that wait for the transport; when full, the oldest is dropped. Chosen:
// those of a burst's segments. Range: 16 to 1,024.
inline constexpr size_t kErrorsKept = 64;

}  // namespace heddle::datapath::udp_params
