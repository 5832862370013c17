// Constants of judgement of the verbs datapath: unit, source, reasonable range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::datapath::verbs_params {

// Unit of writes in bytes. RC: the largest write that the transport numbers. UC: a lost packet
// loses the write, which has four units (32 KiB), and down to one where packets are lost
// (transport/extensions/remote_writes.cc): 2 packets of the largest RDMA MTU. UCCL-Tran has 32 to
// 64 KiB. Range: 4 to 64 KiB; a message has at most 16,384 units.
inline constexpr uint32_t kReliableChunkBytes = 64 * 1024;
inline constexpr uint32_t kUnreliableChunkBytes = 8 * 1024;
// Writes that a queue pair holds. Chosen: 2 MiB in flight a path, 0.16 ms at 100 Gb/s; more wait in
// user memory. Range: 8 to 256.
inline constexpr uint32_t kSendDepth = 32;
// Writes that may arrive on a queue pair before the program polls. Chosen: 8 MiB, 5 ms of a
// sixteenth of 200 Gb/s; RC pauses the sender beyond (RNR), UC drops. Range: 32 to 1,024.
inline constexpr uint32_t kReceiveDepth = 128;
// Tries to change a queue pair that the kernel calls busy, each a system call and a yield. Chosen:
// some milliseconds; reading a state takes microseconds. Range: 100 to 100,000.
inline constexpr int kBusyTries = 1000;
// While as many queue pairs wait to be destroyed, none is made for sending: its chunks count as not
// arrived. Chosen: those of 16 peers with 16 paths in both directions. Range: 16 to 4,096.
inline constexpr size_t kMostEnding = 512;
// A datapath that closes waits this long for the end of its queue pairs. Chosen: above the 2 s that
// soft-RoCE took for 16 of them on an emulated processor. Range: 1 to 30 s.
inline constexpr Nanos kEndsWithin = seconds(10);
// A recall waits this long for the completions of writes whose queue pair was broken off, and then
// for the queue pair's end. Chosen: above what a NIC needs to complete kSendDepth requests; the
// driver runs nothing else meanwhile. Range: 1 to 100 ms.
inline constexpr Nanos kFlushWait = millis(20);
// Receives are posted again in rows of this number. Chosen: one doorbell for several chunks.
// Range: 1 to kReceiveDepth / 2.
inline constexpr uint32_t kReceiveRow = 16;
// Completions that the queue holds at first; it grows with the number of queue pairs.
inline constexpr uint32_t kCompletions = 4096;
// Completions that are taken by one call. Chosen. Range: 8 to 256.
inline constexpr size_t kCompletionsACall = 32;
// Queue pairs that peers may hold together. Chosen: 256 peers with 16 paths. Range: 256 to 65,536.
inline constexpr size_t kMaxReceivingPairs = 4096;
// A path gets a new receiving queue pair at most once in this time; an earlier request is dropped,
// and its sender repeats it after kRequestRetry. Chosen: a NIC makes a queue pair in some 0.1 ms,
// so a peer that asks without end costs it one part in a hundred a path. Range: 1 to 20 ms.
inline constexpr Nanos kNewPairEvery = millis(10);
// Chunks that wait for a queue pair, a path; beyond it they count as lost. Chosen: 64 MiB, more
// than a path's window. Range: 64 to 16,384.
inline constexpr size_t kMaxPending = 1024;

// RC: the NIC repeats after 4.096 us * 2^kRetryTimer = 67 ms without an acknowledgement, and gives
// up after kRetries of them. Common values (perftest: 14 and 7). Range: 10 to 16, 1 to 7.
inline constexpr uint8_t kRetryTimer = 14;
inline constexpr uint8_t kRetries = 7;
// RC: while the receiver has no receive posted, the sender waits 0.01 ms (code 1) between tries,
// for ever (7): the transport decides whether the peer is dead.
inline constexpr uint8_t kReceiverNotReadyTimer = 1;
inline constexpr uint8_t kReceiverNotReadyRetries = 7;
inline constexpr uint8_t kHopLimit = 64;

// A test of RC (rc_stream.h) polls this long before it sleeps: a round trip of a cluster's NICs is
// below 20 us. Chosen. Range: 0 to 200 us.
inline constexpr Nanos kStreamSpin = micros(50);
// Then it sleeps no longer than this, since what completes before it asks for an event makes none.
// Chosen: short beside the time of a test. Range: 0.2 to 10 ms.
inline constexpr Nanos kStreamWait = millis(1);
// How long after its time it waits for what it has sent: above kRetries of the NIC. Chosen. Range:
// 1 to 10 s.
inline constexpr Nanos kStreamEnds = seconds(3);

// A request for a queue pair is repeated after this time, doubled each time, kRequestTries times in
// all: 2.5 s. Chosen: above the time in which a NIC makes a queue pair. Range: 1 to 100 ms; 4
// to 16.
inline constexpr Nanos kRequestRetry = millis(20);
inline constexpr int kRequestTries = 7;
// Receives without input between two reads of the exchange's socket. As xdp_params::kTurnsPerLook.
inline constexpr uint32_t kTurnsPerLook = 32;

// Smaller regions stay unknown to the NIC: registration costs more than the copy it saves, and
// messages below this size travel as datagrams (transport/messages/outgoing.cc). Range: up to
// 2,048.
inline constexpr uint64_t kLeastRegionBytes = 2048;

// Completions of queue pairs that have ended may stay until they are taken: this many more than
// those of the queue pairs. Chosen: eight queue pairs of 128. Range: 128 to 16,384.
inline constexpr uint32_t kSpareCompletions = 1024;
// Messages of the exchange that one turn reads: more wait, so that strangers cannot hold the
// driving thread. Chosen. Range: 16 to 256.
inline constexpr int kMessagesATurn = 64;
// What the doctor wants: bytes that may be locked, since a large job registers its buffers, and
// each registered page is locked. Chosen. Range: 64 MiB to 64 GiB.
inline constexpr int64_t kWantedMemlock = int64_t{1} << 30;
// An interface's MTU with which RDMA packets carry 2,048 bytes, of which datagrams need 1,200 (UD);
// and 4,096: their headers take up to 84 bytes (soft-RoCE counts 80), so that 4,200 is what vendors
// advise. Range: 2,148 to 4,200; 4,180 to 9,000.
inline constexpr uint32_t kEnoughForDatagrams = 2'200;
inline constexpr uint32_t kWantedMtu = 4'200;

}  // namespace heddle::datapath::verbs_params
