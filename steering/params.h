// Constants of judgement of steering, by the file that uses them: unit, source, range. How much may
// be changed, and how often, is a policy's (policy.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::steering::params {

// --- the audit file (audit.cc) ---

// Bytes that are read at a time; a line that is longer is of another program. Chosen. Range: 64 KiB
// to 16 MiB, above the longest decision.
inline constexpr int64_t kBlock = int64_t{1} << 20;

// --- texts (decision.cc, commands.cc) ---

// Bytes of a text from a recording in a line of the audit file, and of the message of a node's
// condition. Chosen: a sentence fits several times. Range: 200 to 16,384; 200 to 32,768, what
// Kubernetes takes.
inline constexpr size_t kLongestText = 1024;
inline constexpr size_t kLongestMessage = 1024;

// --- rules (policy.cc) ---

// Chosen: above the kinds of faults times a cluster's groups of hosts. Range: 100 to 100,000.
inline constexpr size_t kMostRules = 1'000;

// --- refusals (steering.cc) ---

// A refusal for one reason and target is logged once in it, at least, and this many different ones.
// Chosen: a recording can hold any number of alarms. Range: 10 min to 1 d; 100 to 100,000.
inline constexpr Nanos kRefusalPause = seconds(3600);
inline constexpr size_t kMostRefusals = 1'000;

}  // namespace heddle::steering::params
