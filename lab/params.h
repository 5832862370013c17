// Constants of judgement of the lab: unit, source, reasonable range. Limits of the kernel and of
// packet formats stay with their code; the virtual machine has a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::lab::params {

// --- delayed links (delays.h, delays.cc) ---

// `lab up` warns above these rates of one direction of a link, and of all directions together.
// Chosen: docs/how-to/lab.md has measurements on a busy machine, and the command. Range: 0.5 to 5
// Gb/s; 1 to 20 Gb/s.
inline constexpr BitsPerSec kTrueRate = gigabits_per_s(1);
inline constexpr BitsPerSec kTrueRateOfAll = gigabits_per_s(2);
// Shorter delays are ignored: the lab's own hops take about as long. Measured: a small packet costs
// 3.3 us of processor time across a fabric, and processes wait for cores. Range: 20 to 200 us.
inline constexpr Nanos kLeastDelay = micros(50);
// How long the forwarder may be descheduled without loss; every limit of a delayed link includes
// the data of this time. Measured: with four spinning threads on two cores a sleeping thread woke
// up to 11.6 ms late. Range: 10 to 100 ms.
inline constexpr Nanos kStall = millis(30);
// The assumed rate of a link without a limit. Chosen. Range: 1 to 100 Gb/s.
inline constexpr BitsPerSec kUnlimited = gigabits_per_s(10);
// Bounds of what a delayed link holds in flight, and of the ring that it is read from. Chosen.
// Range: 256 KiB to 4 MiB; 64 MiB to 1 GiB; 128 KiB to 2 MiB; 4 to 64 MiB.
inline constexpr Bytes kLeastInFlight = mebibytes(1);
inline constexpr Bytes kMostInFlight = mebibytes(256);
inline constexpr Bytes kLeastRing = {512u << 10};
inline constexpr Bytes kMostRing = mebibytes(16);
// Packets that a delayed link holds with netem, at most. Chosen. Range: 1 to 16 million.
inline constexpr uint64_t kMostNetemPackets = 4'000'000;

// --- the forwarder (forwarder.cc, packet_port.cc) ---

// Frames read, and sent, in a batch. Chosen. Range: 64 to 1,024; 16 to 256.
inline constexpr size_t kReadBatch = 256;
inline constexpr size_t kSendBatch = 64;
// Sends are batched for a twentieth of the shortest delay, within these limits, similar to a NIC's
// interrupt moderation. Chosen. Range: 1 to 20 us; 20 to 100 us.
inline constexpr Nanos kLeastTick = micros(5);
inline constexpr Nanos kMostTick = micros(50);
// Longest time between two reads of a port. Chosen. Range: 100 us to 5 ms.
inline constexpr Nanos kMostBetweenReads = millis(1);
// Counters are published at this interval. Chosen. Range: 1 to 100 ms.
inline constexpr Nanos kPublishInterval = millis(5);
// Longest wait for a frame, in milliseconds. Chosen. Range: 100 to 10,000.
inline constexpr int kIdleMs = 1'000;
// An arrival time further in the past indicates a step of the system's clock. Chosen. Range: 100 ms
// to 10 s.
inline constexpr Nanos kMostBack = seconds(1);
// Least slots of a port's ring. Chosen. Range: 64 to 4,096.
inline constexpr size_t kLeastSlots = 256;
// Bytes of a block of a port's ring: larger contiguous blocks of pages may not be available.
// Chosen. Range: 4 KiB to 4 MiB.
inline constexpr size_t kLeastBlock = 65'536;

// --- layout, filters, counters (layout.cc, filters.cc, link_meter.cc) ---

// NICs of a host. Chosen: eight times those of a large GPU host. Range: 16 to 256.
inline constexpr uint32_t kMostNics = 64;
// Classes of length by which packets are sampled for marking: the sample is by bytes to an eighth
// of a full packet. Chosen. Range: 4 to 32.
inline constexpr uint64_t kLengthParts = 8;
// Bytes of a table of counters that are read at once. Chosen. Range: 4 KiB to 1 MiB.
inline constexpr size_t kPieceBytes = 65'536;

// --- processes (run.cc, processes.cc, worker.cc) ---

// From the signal that ends a command to SIGKILL, in milliseconds. Chosen, as launch. Range: 1,000
// to 30,000.
inline constexpr int kGraceMs = 5'000;
// Scans for processes that remain in a namespace, and the pause between two in microseconds: 3 s
// in all. Chosen. Range: 100 to 1,000; 1,000 to 50,000.
inline constexpr int kScans = 300;
inline constexpr unsigned kScanPauseUs = 10'000;
// Between two looks for a child that was stopped, in milliseconds. Chosen. Range: 10 to 500.
inline constexpr int kLookEveryMs = 50;

// --- plain sockets to compare with (socket_tests.cc, sockets/) ---

// Bytes of a line in which both ends agree on a test. Chosen: some words and numbers. Range: 64 to
// 1,024.
inline constexpr size_t kMostLine = 128;
// Bytes of a write and of a read. Measured: 1 MiB gave kernel TCP its highest rate over veth, 64 to
// 79 Gb/s against 12 to 15 with 128 KiB. Range: 128 KiB to 4 MiB.
inline constexpr Bytes kTcpBlock = mebibytes(1);
// Memory of all blocks that a process receives many streams in, and the least of one stream: an
// all-to-all of 64 hosts on one machine has 64 such processes of 63 streams, which took 4 GiB with
// a whole block each. Chosen: 512 MiB of them. Range: 1 to 64 MiB; 16 to 256 KiB.
inline constexpr Bytes kStreamBlocks = mebibytes(8);
inline constexpr Bytes kLeastStreamBlock = kibibytes(64);
// How long the client tries to connect while the other end starts, and waits for an answer. Chosen.
// Range: 1 to 10 s.
inline constexpr Nanos kTcpConnect = seconds(3);
// A datagram of the bandwidth test: qperf's default, so that figures can be compared. Range: 1 to
// 65,507 B.
inline constexpr Bytes kUdpMessage = kibibytes(32);
// Bytes of a datagram that is sent back, at most. Chosen. Range: 8 to 64 B.
inline constexpr size_t kMostPing = 16;
// A datagram that has not come back by then is lost. Chosen, above the queues of a slow link.
// Range: 10 ms to 1 s.
inline constexpr Nanos kPingWait = millis(100);
// Between two tests: queues drain, and hosts that began apart do not overlap. Chosen. Range: 10 to
// 200 ms.
inline constexpr Nanos kSocketPause = millis(50);
// Shorter pauses between datagrams are waited for without sleeping. Chosen, as a timer's accuracy.
// Range: 50 to 200 us.
inline constexpr Nanos kShortSleep = micros(100);

}  // namespace heddle::lab::params
