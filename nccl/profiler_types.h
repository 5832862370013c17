// What all versions of NCCL's profiler interface share: kinds of events, states of events, and the
// descriptors that never changed. As of NCCL 2.32 (profiler version 7).
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/types.h"

namespace heddle::nccl::profiler {

// Kinds of events, as bits of init's activation mask and as `type` of a descriptor. NCCL also
// reports the ancestors of an activated kind.
inline constexpr uint64_t kGroup = 1u << 0;          // calls that share a kernel
inline constexpr uint64_t kColl = 1u << 1;           // a collective, when it is enqueued
inline constexpr uint64_t kP2p = 1u << 2;            // a send or receive, when it is enqueued
inline constexpr uint64_t kProxyOp = 1u << 3;        // the proxy's part with a peer on a channel
inline constexpr uint64_t kProxyStep = 1u << 4;      // one of its transfers
inline constexpr uint64_t kProxyCtrl = 1u << 5;      // the proxy thread without transfers
inline constexpr uint64_t kKernelChannel = 1u << 6;  // a kernel's work on a channel; from v3 on
inline constexpr uint64_t kNetPlugin = 1u << 7;      // events of the net plugin; from v3 on
inline constexpr uint64_t kGroupApi = 1u << 8;       // from v5 on, as the next three
inline constexpr uint64_t kCollApi = 1u << 9;
inline constexpr uint64_t kP2pApi = 1u << 10;
inline constexpr uint64_t kKernelLaunch = 1u << 11;
inline constexpr uint64_t kCeColl = 1u << 12;  // copy engines: from v6 on, as the next two
inline constexpr uint64_t kCeSync = 1u << 13;
inline constexpr uint64_t kCeBatch = 1u << 14;
inline constexpr uint64_t kKernelPhase = 1u << 15;  // from v7 on

// States that recordEventState reports.
enum State : int {
  kOpSendPosted = 0,  // 0 to 7 up to v3
  kOpSendPeerWait = 1,
  kOpSendTransmitted = 2,
  kOpSendDone = 3,
  kOpRecvPosted = 4,
  kOpRecvReceived = 5,
  kOpRecvTransmitted = 6,
  kOpRecvDone = 7,
  kStepSendGpuWait = 8,
  kStepSendWait = 9,
  kStepRecvWait = 10,
  kStepRecvFlushWait = 11,
  kStepRecvGpuWait = 12,
  kCtrlIdle = 13,
  kCtrlActive = 14,
  kCtrlSleep = 15,
  kCtrlWakeup = 16,
  kCtrlAppend = 17,
  kCtrlAppendEnd = 18,
  kOpInProgress = 19,      // from v4 on
  kStepSendPeerWait = 20,  // from v4 on; reported at every attempt to send
  kNetPluginUpdate = 21,
  kKernelChannelStop = 22,
  kGroupStartStop = 23,
  kGroupEndStart = 24,
  kCeCollStart = 25,  // 25 to 30: declared, and not reported by NCCL 2.30
  kCeCollComplete = 26,
  kCeSyncStart = 27,
  kCeSyncComplete = 28,
  kCeBatchStart = 29,
  kCeBatchComplete = 30,
  kKernelPhaseStop = 31,
};

// Of a descriptor of kind kProxyOp.
struct ProxyOp {
  int pid;  // the process whose op it is: its parent lies in that process's memory
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct ProxyStep {
  int step;
};

struct NetPlugin {
  int64_t id;  // plugin and layout of `data`, as the net plugin gave them to the callback
  void* data;
};

}  // namespace heddle::nccl::profiler
