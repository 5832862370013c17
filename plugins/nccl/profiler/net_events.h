// What heddle's net plugin reports to heddle's profiler through NCCL's profiler callback: one event
// a transfer. The net plugin fills a NetTransfer and calls the callback; the profiler decodes it.
//
//   start:  callback(&handle, kNetEventStart, phandle, kNetEventsId, &transfer)
//   end:    callback(&handle, kNetEventUpdateAndStop, phandle, kNetEventsId, &transfer)
//
// The callback copies: `transfer` may lie on the stack. After a start that left `handle` null (no
// profiler, or another level) no end needs to be reported.
#pragma once

#include <cstdint>

namespace heddle::nccl {

// Plugin and layout as NCCL divides them: bits 16 to 31 name the plugin (NCCL has 1 for InfiniBand
// and 2 for sockets), bits 0 to 15 the layout of the descriptor.
inline constexpr int64_t kNetEventsPlugin = 0x4864;
inline constexpr int64_t kNetEventsLayout = 1;
inline constexpr int64_t kNetEventsId = kNetEventsPlugin << 16 | kNetEventsLayout;

inline constexpr uint16_t kSeveralPaths = UINT16_MAX;

// At the start `connection` and `bytes` count; at the end all.
struct NetTransfer {
  uint32_t connection = 0;        // the local id of heddle's connection
  uint16_t path = kSeveralPaths;  // the path that carried most of it
  uint16_t reserved = 0;
  uint64_t bytes = 0;                // of the transfer
  uint64_t retransmitted_bytes = 0;  // retransmitted after a loss
  int64_t delay_ns = 0;              // smoothed round trip; 0: not known
};
static_assert(sizeof(NetTransfer) == 32);

}  // namespace heddle::nccl
