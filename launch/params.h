// Constants of judgement of starting ranks: unit, source, reasonable range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::launch::params {

// Ranks that one machine is asked to start, at most. Chosen: above what its cores can run. Range:
// 1,024 to 32,768.
inline constexpr uint32_t kMostLocalRanks = 4'096;
// From SIGTERM to SIGKILL. Chosen. Range: 1 to 60 s; `heddle run --grace` sets it.
inline constexpr Nanos kGrace = seconds(5);
// A process that has run, or been a member, for as long did not end because of its start. Chosen.
// Range: 10 to 600 s.
inline constexpr Nanos kSettled = seconds(60);
// Before a newcomer is started after the second process in a row that ended sooner than that;
// doubled each time, up to the longest. Chosen. Range: 0.1 to 10 s, 10 to 600 s.
inline constexpr Nanos kFirstRestartWait = seconds(1);
inline constexpr Nanos kLongestRestartWait = seconds(60);
// How often the files of ranks are looked at while a newcomer waits or a rank is to be ended.
// Chosen. Range: 50 to 1,000 ms.
inline constexpr Nanos kMemberFilePeriod = millis(200);
// Between two processes that are ended since fewer are wanted, at least: those that are left notice
// the loss and agree within about a second. Chosen. Range: 1 to 10 s.
inline constexpr Nanos kReleaseGap = seconds(2);
// A rank is ended once the others agree on how many they are; where they do not write it, after
// this. Chosen: above what an agreement may take (collectives::params). Range: 15 to 120 s.
inline constexpr Nanos kSettleWithin = seconds(30);
// One signal that arrives twice, through the terminal's process group and passed on, does so within
// this time; a second Ctrl-C comes later. Chosen. Range: 100 to 500 ms.
inline constexpr Nanos kSameSignal = millis(300);
// Bytes of a line that are held until its end comes; a longer one is printed in pieces. Chosen.
// Range: 4 KiB to 1 MiB.
inline constexpr size_t kLongestLine = 64 << 10;
// From SIGTERM to SIGKILL of what stands for a command on another machine whose output is read: the
// agent there ends it in any case. Chosen. Range: 0.5 to 5 s.
inline constexpr Nanos kStreamGrace = seconds(2);
// Ports of PyTorch's store, from the first: below the kernel's ephemeral ports, 32,768 and above by
// default. Range: within 1,024 to 32,767.
inline constexpr uint16_t kFirstMasterPort = 20'000;
inline constexpr uint16_t kMasterPorts = 12'000;

// Times that a remote shell logs in where it is turned away, and the wait after the first, doubled
// each time: an sshd takes ten logins at once by default and drops some of more. Chosen. Range: 3
// to 10; 100 ms to 1 s.
inline constexpr int kLogins = 6;
inline constexpr Nanos kFirstLoginWait = millis(400);
// A warning that another machine has not answered comes after this. Chosen. Range: 5 to 30 s.
inline constexpr Nanos kSlowLogin = seconds(10);
// What may come before an agent's greeting: messages of the day are shorter. Chosen. Range: 64 KiB
// to 16 MiB.
inline constexpr size_t kLongestGreeting = 1 << 20;
// How often a process that stands for a command on another machine sends a sign of life, and how
// long the agent there lives without: the other end may have lost its power. Chosen. Range: 1 to 10
// s; 15 to 120 s.
inline constexpr Nanos kSignOfLife = seconds(5);
inline constexpr Nanos kSilence = seconds(40);
// By how much an agent may wait longer for a common start than where it was ordered: clocks may be
// apart by less than what acceptance::params::kClockApart names. Chosen. Range: 0.2 to 2 s.
inline constexpr Nanos kStartSlack = seconds(1);

}  // namespace heddle::launch::params
