// Constants of the RoCE NIC model. Each names its unit, its source and a reasonable range; the
// tests were run with the values below only. "DCQCN": Zhu et al., Congestion Control for
// Large-Scale RDMA Deployments, SIGCOMM 2015. "IRN": Mittal et al., Revisiting Network Support for
// RDMA, SIGCOMM 2018. "IBTA": InfiniBand Architecture Specification, volume 1.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::simulator::roce::params {

// --- DCQCN (dcqcn.h, responder.h) ---

// N: a notification point sends at most one CNP a queue pair in this time. DCQCN section 3.2.
// Range: 4 to 100 us.
inline constexpr Nanos kCnpInterval = micros(50);
// K: alpha decays once in this time without a CNP. DCQCN section 3.3; it exceeds N. Range: N to
// 300 us.
inline constexpr Nanos kAlphaTimer = micros(55);
// 1 / g, g the weight of a CNP in alpha. DCQCN, parameters of its testbed. Range: 16 to 1,024.
inline constexpr uint32_t kGainDivisor = 256;
// T: the rate increases once in this time. DCQCN, parameters of its testbed. Range: 55 us to 1.5 ms
// (QCN's).
inline constexpr Nanos kRateTimer = micros(55);
// B: the rate increases once in this number of bytes. DCQCN, parameters of its testbed. Range: 150
// KB (QCN's) to 10 MB.
inline constexpr Bytes kByteCounter = {10'000'000};
// The rate takes the target's value once it is this close: halving the distance never ends. Chosen:
// a hundredth of kLeastRate. Range: 0.01 to 10 Mb/s.
inline constexpr BitsPerSec kClose = megabits_per_s(1);
// F: steps of fast recovery. DCQCN section 3.3. Range: 1 to 5.
inline constexpr uint32_t kFastRecoverySteps = 5;
// R_AI as a part of the line rate: 40 Mb/s at the 40 Gb/s of DCQCN's testbed. Range: 500 to 5,000.
inline constexpr uint32_t kAdditivePart = 1'000;
// R_HAI / R_AI: 50 and 5 Mb/s, the defaults of the ns-3 model by DCQCN's authors. Range: 1 to 20.
inline constexpr uint32_t kHyperFactor = 10;
// No queue pair sends slower. The default of the same ns-3 model. Range: 10 to 1,000 Mb/s.
inline constexpr BitsPerSec kLeastRate = megabits_per_s(100);

// --- queue pairs (requester.h, responder.h) ---

// Payload of a full packet in bytes; IBTA has 256, 512, 1024, 2048 and 4096.
inline constexpr uint32_t kMtuBytes = 4'096;
// A requester requests an acknowledgement with the last packet of a message, and in between with
// every packet whose number is a multiple of this. Chosen: IBTA leaves it to the requester (AckReq
// of section 9.7.2). Range: 1 to 64.
inline constexpr uint32_t kPacketsPerAck = 16;
// Without progress for this time a requester sends again from the first packet that is not
// acknowledged. IBTA's Local ACK Timeout is 4.096 us x 2^n; this is n = 10, favorable to RoCE:
// perftest has n = 14, NCCL n = 20. It exceeds the time in which a lossless fabric drains a full
// buffer; the 320 us of IRN do not. Range: n of 5 to 20.
inline constexpr Nanos kAckTimeout = nanos(4'096 * 1'024);
// Timeouts in sequence after which a queue pair fails. IBTA's retry count has three bits; NCCL and
// perftest use the largest. Range: 0 to 7.
inline constexpr uint32_t kRetries = 7;

}  // namespace heddle::simulator::roce::params
