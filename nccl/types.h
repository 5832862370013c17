// NCCL's own types as its plugins meet them: result codes, log levels, data types and the callbacks
// that it hands over. Declared here so that no NCCL header is needed; layouts as of NCCL 2.30.7.
#pragma once

#include <cstdint>

namespace heddle::nccl {

// ncclResult_t
enum Status : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
  kTimedOut = 8,
};

// ncclDebugLogLevel
enum LogLevel : int {
  kLogNone = 0,
  kLogVersion = 1,
  kLogWarn = 2,
  kLogInfo = 3,
  kLogAbort = 4,
  kLogTrace = 5,
};

// ncclDebugLogSubSys: bits of a log line's `flags`
inline constexpr unsigned long kLogInit = 0x1;
inline constexpr unsigned long kLogNet = 0x10;
inline constexpr unsigned long kLogGraph = 0x20;
inline constexpr unsigned long kLogTuning = 0x40;
inline constexpr unsigned long kLogEnv = 0x80;
inline constexpr unsigned long kLogProfile = 0x4000;

// ncclDebugLogger_t: printf-like; NCCL adds host, process, rank and a line's end.
using Logger = void (*)(LogLevel level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

// ncclProfilerCallback_t: how a net plugin reports events of its own to the profiler plugin.
// `type` is one of NetEvent; `handle` is written on kNetEventStart and read afterwards; `parent` is
// the phandle of isend or irecv; `plugin` names plugin and layout of `descriptor`.
using ProfilerCallback = Status (*)(void** handle, int type, void* parent, int64_t plugin,
                                    void* descriptor);
enum NetEvent : int {
  kNetEventStart = 0,
  kNetEventStop = 1,
  kNetEventUpdate = 2,
  kNetEventUpdateAndStop = 3,
};

// Kinds of memory of regMr and of Properties::pointers (bits).
inline constexpr int kPointerHost = 0x1;
inline constexpr int kPointerCuda = 0x2;
inline constexpr int kPointerDmabuf = 0x4;

inline constexpr int kDeviceHost = 0;  // Properties::device_type: no offload to device code
inline constexpr uintptr_t kOptionalCompletion =
    0x1;                                  // what `*request` of irecv may hold before it
inline constexpr int kHandleBytes = 128;  // NCCL_NET_HANDLE_MAXSIZE
inline constexpr int kMaxRequests = 32;   // of a comm at once, NCCL_NET_MAX_REQUESTS
inline constexpr int kUndefinedTrafficClass = -1;
inline constexpr int16_t kUndefinedId = -1;  // railId, planeId

// ncclNetDeviceHandle_t: a connection offloaded to device code. Opaque: no plugin here offers it.
struct DeviceHandle;

}  // namespace heddle::nccl
