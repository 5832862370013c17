// Constants of judgement of the engine: unit, source, reasonable range. Widths of counters and
// limits of file formats stay with their code.
#pragma once

#include <cstdint>

#include "base/nanos.h"

namespace heddle::engine::params {

// --- the driver loop (driver.cc) ---

// Longest timer delay while the network refuses bursts. Datapath::wait() ends as soon as the
// network can send, so this matters only if it never can. Chosen. Range: 100 us to 10 ms.
inline constexpr Nanos kRefusedRetry = millis(1);
// Predicted places that one turn may fill. Each receive() that fills a place returns one message;
// without a prediction one receive() returns several. Chosen. Range: 1 to 16.
inline constexpr int kPlacesPerTurn = 4;
// Below this many bytes a copy is no slower than a clock read, 21 to 27 ns. Chosen. Range: 256 to
// 4,096.
inline constexpr uint64_t kQuickCopyBytes = 1024;

// --- who drives (endpoint_drive.cc) ---

// Turns in a row that the helper runs for an endpoint before it serves the next one. Chosen. Range:
// 4 to 64.
inline constexpr int kHelperTurns = 16;
// A spinning thread yields its core after kYieldAfter. An earlier yield would delay the detection
// of early input: a system call costs as much as several polls of the network. A yield that took
// kYieldTaken or longer means that another thread ran, so the core is in demand, perhaps by the
// peer; the thread then yields at once. Chosen. Range: 5 to 100 us; 1 to 10 us.
inline constexpr Nanos kYieldAfter = micros(20);
inline constexpr Nanos kYieldTaken = micros(3);
// Least time between two turns of an endpoint whose poll source is checked more often. Chosen.
// Range: 5 to 100 us.
inline constexpr Nanos kTurnInterval = micros(20);

// --- recordings (endpoint_observed.cc) ---

// Interval between reports of the time stamp counter's error. Chosen. Range: 100 ms to 10 s.
inline constexpr Nanos kStampReportInterval = seconds(1);

}  // namespace heddle::engine::params
