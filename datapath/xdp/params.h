// Constants of judgement of the AF_XDP datapath: unit, source, reasonable range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::datapath::xdp_params {

// Frames that a receive queue holds, and slots of its rings. Chosen: 4,096 datagrams of 1,472 bytes
// are 0.5 ms of a 100 Gb/s link. Range: 512 to 16,384, a power of two.
inline constexpr uint32_t kReceiveFrames = 4096;
// Frames for sending, a queue. Chosen: several bursts of 64 segments, also where a segment of 9,000
// bytes takes three frames. Range: 512 to 8,192, a power of two.
inline constexpr uint32_t kTransmitFrames = 2048;
// Bytes of receive capacity advertised per frame: a frame holds one datagram of any size, so small
// ones are counted as this size, as over UDP (udp/params.h). Range: 64 to 1,472.
inline constexpr uint32_t kCapacityPerFrame = 512;
// A batch ends at this number of payload bytes: more would leave the cache before it is copied.
// As udp/params.h. Range: 64 to 512 KiB.
inline constexpr size_t kBatchBytes = 192 * 1024;
// Receives without input between two looks at the UDP datapath. Chosen: a system call every that
// many turns, unless it had input lately. Range: 8 to 128.
inline constexpr uint32_t kTurnsPerLook = 32;
// Looks at the UDP datapath in every turn after it had input. Chosen. Range: 8 to 256.
inline constexpr uint32_t kLooksAfterInput = 64;
// Receives with input, without a wait between them, after which the sockets are not watched until
// the next wait. Measured with `heddle perf bw` over veth: the watch costs a sixth of the goodput,
// dropping and renewing it two system calls a socket. Above the turns in which the engine's helper
// drives between two waits (16). Range: 64 to 4,096.
inline constexpr uint32_t kReceivesPerWatch = 256;
// Retry interval after a full transmit ring, and after a send that the kernel did not finish: no
// event reports room in copy mode. As UDP's kNoBuffersRetry. Range: 20 to 500 us.
inline constexpr Nanos kRetry = micros(100);
// A route and its neighbor are read again after this time, also without a notification. Chosen.
// Range: 100 ms to 5 s.
inline constexpr Nanos kRouteAge = seconds(1);
// The same where the kernel must still resolve the neighbor. Chosen: an ARP exchange takes less.
// Range: 0.2 to 10 ms.
inline constexpr Nanos kUnresolvedAge = millis(1);
// Notifications of the kernel are read at most this often. Chosen. Range: 0.2 to 10 ms.
inline constexpr Nanos kNotificationsEvery = millis(1);
// Destinations in the cache; it is emptied when full. Chosen: bounds memory. Range: 256 to 65,536.
inline constexpr size_t kMaxDestinations = 4096;
// An interface that is down sends through UDP for this time before AF_XDP is tried again. Chosen.
// Range: 1 to 100 ms.
inline constexpr Nanos kDownRetry = millis(10);
// Opening tries a busy queue this number of times, this far apart: the kernel frees the queue of a
// closed socket with a delay, by a work queue. Chosen. Range: 5 to 50; 5 to 50 ms.
inline constexpr int kQueueAttempts = 10;
inline constexpr Nanos kQueueRetry = millis(10);
// Packets that one system call may send in copy mode (XDP_MAX_TX_SKB_BUDGET, Linux 6.17; 32
// before). Chosen: a burst of 64 segments. Range: 32 to 2,048.
inline constexpr int kTransmitBudget = 256;
// Packets that one call of the driver's poll function handles (SO_BUSY_POLL_BUDGET). The kernel's
// documentation of AF_XDP uses it. Range: 8 to 64.
inline constexpr int kBusyPollBudget = 64;

// Addresses whose datagrams the program steers (program.h). Chosen: an interface has few, and each
// datagram is compared with them one by one. Range: 4 to 64.
inline constexpr size_t kMaxProgramAddresses = 16;
// Bytes of the verifier's log of the program. Chosen: the end of what it says. Range: 4 KiB to 1
// MiB.
inline constexpr size_t kVerifierLogBytes = 16 * 1024;
// Bytes of a reply of rtnetlink: the kernel fills at most 32 KiB at a time. Range: 32 to 256 KiB.
inline constexpr size_t kReplyBytes = 64 * 1024;
// Hop limit of frames: the default of Linux. Range: 16 to 255.
inline constexpr uint8_t kHopLimit = 64;

}  // namespace heddle::datapath::xdp_params
