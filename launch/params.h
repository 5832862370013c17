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

// --- commands in the background (background_command.h) ---

// Bytes of a command's output and of what it says of errors that are kept. Chosen: an action says
// little. Range: 64 KiB to 64 MiB; 1,024 to 65,536.
inline constexpr size_t kMostOutput = size_t{1} << 20;
inline constexpr size_t kMostErrors = 4096;
// Waits of a millisecond for a process that was killed. Chosen: a process in a system call may take
// that long. Range: 100 to 10,000.
inline constexpr int kMostWaits = 1'000;

// --- requests of a run (control/run_control.h) ---

// Time for a request to arrive and for its answer, ms; and bytes of either. Chosen: both ends are
// on one host, and the answer may wait for a look at all ranks. Range: 50 to 2,000; 1,000 to
// 30,000; 512 to 65,536.
inline constexpr int kPatienceMs = 200;
inline constexpr int kAnswerPatienceMs = 5'000;
inline constexpr size_t kLongestMessage = 4'096;
// Time for connecting, which waits where many ask a run that was stopped; whole seconds. Chosen, as
// an answer's. Range: 1 to 30 s.
inline constexpr Nanos kConnectPatience = seconds(5);

// --- what ranks leave behind (ranks/) ---

// Rounds in which descendants are killed: they may start others meanwhile. Of one rank, and at the
// end of all with 2 ms in between: 1 s. Chosen. Range: 10 to 500; 50 to 5,000.
inline constexpr int kLeftoverRounds = 50;
inline constexpr int kDescendantRounds = 500;

// --- agents (remote/) ---

// Bytes of an order: the tasks of probes between a thousand NICs. Range: 1 MiB to 1 GiB.
inline constexpr size_t kLongestOrder = 64 << 20;
// Between two looks of an agent at its ranks while it has a task, and without one, ms. Chosen: a
// user does not notice the first. Range: 10 to 200; 200 to 5,000.
inline constexpr int kPollMs = 50;
inline constexpr int kIdlePollMs = 1'000;
// Bytes of what a remote command says of errors. Chosen. Range: 1,024 to 65,536.
inline constexpr size_t kLongestComplaint = 4096;

}  // namespace heddle::launch::params
