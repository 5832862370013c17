// Constants of judgement of the commands, by the command that uses them: unit, source, range. Those
// of command_line/, monitor/, plan/, sim/ and size/ are in a params.h there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::cli::params {

// Records of ended tests or sessions that a server keeps for its summary, the latest ones: it may
// run for weeks (listen.cc, relay_command.cc). Chosen. Range: 10 to 100,000.
inline constexpr size_t kMostRecords = 1000;
// Paths over which `heddle paths` looks for routes, where no setting names others: enough for 8
// routes. Range: 16 to 256.
inline constexpr uint16_t kUsualPaths = 64;
// For a browser that makes a PDF (pages/page_pdf.cc). Chosen: it takes seconds. Range: 20 s to 5
// min.
inline constexpr Nanos kBrowserTime = seconds(60);

namespace agent {

// Bytes of an order on the standard input. Chosen: above the largest plan. Range: 32 MiB to 1 GiB.
inline constexpr size_t kMostInputBytes = 64 << 20;

}  // namespace agent

namespace bench {

// Bytes of a call, and sizes of a run. Chosen: a GPU's memory; a table that a person reads. Range:
// 1 GiB to 1 TiB; 64 to 65,536.
inline constexpr uint64_t kMostBytes = uint64_t{64} << 30;
inline constexpr size_t kMostSizes = 4096;
// Names of a file of results that are tried, where earlier ones are there. Chosen. Range: 100 to
// 10^6.
inline constexpr int kMostTries = 10'000;
// For a call. Chosen: the largest on a slow network. Range: 30 s to 1 h.
inline constexpr Nanos kPatience = seconds(120);

}  // namespace bench

namespace copy {

// Bytes of the line that a receiver at another machine prints first. Chosen. Range: 256 to 65,536.
inline constexpr size_t kLongestLine = 4096;
// Errors that are kept for the summary. Chosen: what a person reads. Range: 10 to 10,000.
inline constexpr size_t kMostErrors = 100;

}  // namespace copy

namespace diagnose {

// Communicators whose rhythm is printed; --json has all. Chosen. Range: 1 to 16.
inline constexpr size_t kMostShown = 4;

}  // namespace diagnose

// --- histograms of flows (job/flow_report.cc) ---
namespace flows {

// Bars, and letters of the longest. Chosen: with numbers a line fits 80 columns. Range: 6 to 24; 20
// to 50.
inline constexpr size_t kBars = 12;
inline constexpr size_t kBarWidth = 40;

}  // namespace flows

namespace lab {

// Share of the processors past which a lab measures them and not the protocol. Chosen. Range: 0.7
// to 0.95.
inline constexpr double kSaturated = 0.85;

}  // namespace lab

namespace matrix {

// Parties of a matrix that is printed with values; of more with shades. Chosen: cells of this width
// fit a wide terminal, and a value with its unit fits a cell. Range: 4 to 32; 6 to 12.
inline constexpr size_t kMostWithValues = 16;
inline constexpr size_t kCellWidth = 8;
// Rows that are printed; more stand together in rows of several. Chosen: what a person looks at.
// Range: 32 to 256.
inline constexpr size_t kMostRows = 128;
// Parties whose matrix is written with all zeros. Chosen: a million numbers. Range: 64 to 4,096.
inline constexpr size_t kMostDense = 1024;

}  // namespace matrix

// --- heddle nccl drive ---
namespace nccl {

// For the results of the other ranks, which have ended their traffic when rank 0 has, and between
// two looks for them. Chosen. Range: 5 s to 5 min; 0.1 to 100 ms.
inline constexpr Nanos kResultPatience = seconds(30);
inline constexpr Nanos kPollPause = millis(1);

}  // namespace nccl

namespace perf {

// Bytes of a message. Chosen: bandwidth shows the network and not the overhead of a message,
// latency the network and no window. Range: 64 KiB to 16 MiB; 1 to 1,024.
inline constexpr uint64_t kBandwidthBytes = 1 << 20;
inline constexpr uint64_t kLatencyBytes = 64;
// The largest size of a sweep, bytes. Chosen: rates no longer grow. Range: 16 MiB to 1 GiB.
inline constexpr uint64_t kSweepLast = 64 << 20;
// A shorter test has no result. Chosen: some round trips of a long link. Range: 1 ms to 1 s.
inline constexpr Nanos kShortestTest = millis(10);
// Paths whose shares are printed one by one. Chosen: a line. Range: 4 to 64.
inline constexpr size_t kMostPathsShown = 16;

}  // namespace perf

namespace ping {

// Between two lines of progress. Chosen: what a person can read. Range: 50 ms to 1 s.
inline constexpr Nanos kShowEvery = millis(200);
// How soon a signal is seen. Chosen: a user does not notice it. Range: 10 to 500 ms.
inline constexpr Nanos kSleepSlice = millis(100);
// Bytes of an echo that are printed. Chosen: a line. Range: 16 to 256.
inline constexpr size_t kMostBytesShown = 64;

}  // namespace ping

namespace probe {

// Source ports of a pair of NICs. Chosen: each of 8 routes is found with 98%.
// Range: 8 to 256.
inline constexpr uint32_t kUsualEntropies = 32;
// NICs of which all pairs are probed, since pairs grow with the square; of more each probes some.
// Chosen. Range: 16 to 256; 4 to 64.
inline constexpr size_t kMostAllPairs = 64;
inline constexpr uint32_t kUsualPeers = 16;
// Packets that are to arrive, of each flow. Chosen: one that is lost is 5%. Range: 5 to 1,000.
inline constexpr uint32_t kUsualDeliveries = 20;
// Probes a second of a host that switches answer. Chosen: control planes limit their answers.
// Range: 100 to 10,000.
inline constexpr uint32_t kUsualPacketsPerSecond = 2'000;
// UDP ports: of receivers, after those of relays and monitors, and of senders, below the ephemeral
// ports of Linux (docs/reference/ports.md). Chosen. Range: 1,024 to 32,767 each.
inline constexpr uint16_t kUsualPort = 18706;
inline constexpr uint16_t kUsualFirstPort = 24000;
// Routes, and ports of one, that are printed; the document has all. Chosen. Range: 8 to 100; 2 to
// 16.
inline constexpr size_t kMostRoutes = 24;
inline constexpr size_t kMostPortsShown = 6;

}  // namespace probe

namespace ranks {

// How soon a signal is seen, and for a goodbye. Chosen. Range: 10 to 500 ms.
inline constexpr Nanos kSlice = millis(100);
// For greetings, and again for reports. Chosen: above the handshake timeout. Range: 6 to 60 s.
inline constexpr Nanos kPatience = seconds(15);

}  // namespace ranks

// --- recordings (record_command.cc, record/contents_report.cc) ---
namespace record {

// Clocks, the least certain ones, and ranks that are printed. Chosen: some lines. Range: 2 to 64
// each.
inline constexpr size_t kMostClocksReported = 8;
inline constexpr size_t kMostListed = 8;
// Bytes of events that are printed together: each print is a system call. Range: 4 KiB to 1 MiB.
inline constexpr size_t kPrintedAtOnce = 64 << 10;

}  // namespace record

namespace relay {

// Sessions at a time that --sessions may allow. Chosen: each has memory for some frames. Range: 64
// to 16,384.
inline constexpr uint32_t kMostSessions = 1024;
// Bytes of --memory at least. Chosen. Range: 1 to 64 MiB.
inline constexpr uint64_t kLeastMemory = 4 << 20;
// A sixteenth of the memory is for messages that travel before the relay has posted a receive.
// Chosen. Range: 4 to 64.
inline constexpr uint64_t kEagerPart = 16;
// How soon a signal is seen, and between two lines of progress. Chosen. Range: 10 to 500 ms.
inline constexpr Nanos kSlice = millis(100);

}  // namespace relay

namespace stragglers {

// A ratio that differs from 1 by less is not printed. Chosen: below the accuracy of a trace. Range:
// 1e-4 to 0.01.
inline constexpr double kShown = 0.001;
// Share of a recorded step that operations may leave uncovered before that is printed: what loads
// data, or launches operations, is between them. Chosen. Range: 0.001 to 0.1.
inline constexpr double kUncovered = 0.01;
// Rows of a table, and the number of a step, on the command line. Chosen: beyond any trace. Range:
// 100 to 10^6; 10^6 to 10^9.
inline constexpr uint64_t kMostRows = 10'000;
inline constexpr uint64_t kMostStep = 100'000'000;
// Operations that a note names. Chosen. Range: 1 to 10.
inline constexpr size_t kNamed = 3;

}  // namespace stragglers

namespace summary {

// Rows of a table, and pairs or NICs that are printed. Chosen: a summary fits a page. Range: 4 to
// 32; 3 to 16.
inline constexpr size_t kMostRows = 8;
inline constexpr size_t kMostPairs = 5;

}  // namespace summary

namespace timeline {

// Bytes that are written together: each write is a system call. Range: 4 KiB to 1 MiB.
inline constexpr size_t kWrittenAtOnce = 64 << 10;

}  // namespace timeline

}  // namespace heddle::cli::params
