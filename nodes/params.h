// Constants of judgement of the node's sampler and of what it reads: unit, source and range each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::nodes::params {

// From one sample of counters to the next. Chosen: drops and errors are placed to the second, and
// a machine with 16 devices writes about 2 KB/s. Range 0.1 to 60 s.
inline constexpr Nanos kSampleEvery = seconds(1);
// How often a process that is not the machine's sampler looks whether it must become it. Range 1 to
// 30 s.
inline constexpr Nanos kTakeOverEvery = seconds(5);
// Interfaces that are sampled, those with hardware first: a machine may have one for each of
// hundreds of containers. Range 16 to 1,024.
inline constexpr size_t kMostInterfaces = 64;
// Kernel messages of a class that are recorded a second; a machine that fails may print thousands
// of one class, which must not hide those of another. Range 10 to 1,000.
inline constexpr uint32_t kMostMessagesASecond = 100;
// Size of a machine's recording beside a job: with 16 busy devices the last 2 hours. Range 4 to 64.
inline constexpr Bytes kJobRecording = mebibytes(16);
// The kernel's clock of messages may drift from the system's clock, which is slewed. Of adjtimex().
inline constexpr double kMostDrift = 500e-6;

// Recordings that fill an agent's disk space: when one is full the next begins, and the oldest go.
// Range 4 to 16.
inline constexpr size_t kAgentRecordings = 8;
// Disk space of a recording's header, at most, and of the block in which it may not end. Chosen:
// the header has 16 KiB (events/recording/layout.h). Range 32 KiB to 1 MiB.
inline constexpr Bytes kRecordingHeader = kibibytes(64);
// Recordings that an agent keeps at most, small ones of agents that ended soon included. Range 16
// to 256.
inline constexpr size_t kMostAgentRecordings = 64;

// Descriptors of locks that a process holds at once: one for each job's folder (host_lock.cc).
// Chosen. Range 8 to 1,024.
inline constexpr size_t kMostLocks = 64;
// Tries to take a lock, of which each fails only where a holder let go meanwhile. Chosen. Range 2
// to 64.
inline constexpr int kLockTries = 8;
// Bytes of an answer of netlink (link_reader.cc): twice the most that Linux puts into a message of
// a dump (recalled). Range 32 to 256 KiB.
inline constexpr size_t kReplyBytes = 64 << 10;
// Unused entries of a port's table of GIDs in a row, behind which there are no others
// (rdma_ports.cc). Chosen: a row of the first entries is unused where addresses have gone. Range 2
// to 64.
inline constexpr size_t kMostUnused = 8;
// Bytes of a kernel's line that a pattern is compared with (text_pattern.h). Chosen: its lines are
// shorter, and the time of a match grows with it. Range 256 to 1,024.
inline constexpr size_t kMostMatchedBytes = 512;

}  // namespace heddle::nodes::params
