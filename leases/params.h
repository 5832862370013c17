// Constants of judgement of leases: each with its unit, its source and its range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::leases::params {

// Renewals of a lease within its time to live: two may fail. Chosen: as etcd's own clients do.
// Range: 2 to 10.
inline constexpr int64_t kRenewals = 3;

// A held lock of a folder is waited for this long. Chosen: what is done under it takes
// milliseconds, on a slow file server a second. Range: 1 to 60 s.
inline constexpr Nanos kMostLockWait = seconds(10);
inline constexpr Nanos kLockPoll = millis(5);

// Longer files of a folder are no leases. Chosen: a fabric of 16,384 hosts with 8 NICs has 400,000
// directions of links, each of about 20 bytes. Range: 1 to 256 MiB.
inline constexpr size_t kMostLeaseBytes = size_t{32} << 20;
// etcd refuses requests above 1.5 MiB, and what its client prints, in base64, is read to 1 MiB.
// Range: 1 to 700 KiB.
inline constexpr size_t kMostEtcdBytes = size_t{600} << 10;
// A command of etcd's client is ended after this time, and after a third of the lease's time to
// live, but not before the least. Chosen: twice the client's own limit for a server that does not
// answer; half a second is a slow start of the client. Range: 2 to 60 s, and 0.2 to 2 s.
inline constexpr Nanos kMostEtcdWait = seconds(10);
inline constexpr Nanos kLeastEtcdWait = millis(500);

// Others may publish while a plan is made, which is then made anew, at most this often: jobs that
// start together publish one after another. Range: 10 to 1,000.
inline constexpr int kMostAttempts = 100;

// From then on the last plan is published as it is: other jobs publish faster than it is made. The
// next turn plans anew. Range: 2 to 20.
inline constexpr int kAttemptsWithPlan = 5;

// A lease moves to other links where the most loaded of its links then takes this share less time.
// Chosen: above what a plan differs by chance (bench/run plan). Range: 0.02 to 0.5.
inline constexpr double kWorthMoving = 0.1;

// Moves of a job until another one begins or ends. Chosen: jobs of one unit of load rest after one
// or two (TenantTest.JobsComeToRestAfterEachChange). Range: 1 to 10.
inline constexpr int kMostMoves = 3;

// Between two looks at a request to etcd, us. Chosen: far below a request's time. Range: 200 to
// 20,000.
inline constexpr uint32_t kPollMicros = 2'000;
// Tries to open the lock of a folder, which another process makes or removes meanwhile. Chosen.
// Range: 2 to 10.
inline constexpr int kLockTries = 3;
// Bounds of a lease, which other programs write: characters of a job's name and of a host's or a
// link's, links with what they are busy, that time in us (11 days), levels of the document (an
// object with a list of lists or objects), and its time to live. Chosen. Range: 16 to 256; 64 to
// 1,024; 4 to 256; 1e9 to 1e15; 3 to 16; 1 h to 30 days.
inline constexpr size_t kMostName = 64;
inline constexpr size_t kMostText = 256;
inline constexpr size_t kMostBusy = 16;
inline constexpr double kMostBusyUs = 1e12;
inline constexpr int kMostDepth = 3;
inline constexpr Nanos kMostTtl = seconds(86'400);
// Busiest links that are named. Chosen. Range: 1 to 10.
inline constexpr size_t kBusiest = 3;

}  // namespace heddle::leases::params
