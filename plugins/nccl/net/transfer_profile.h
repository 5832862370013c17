// TransferProfile: one transfer as NCCL's profiler sees it: heddle's part of the event that NCCL
// opened (its phandle). Without a profiler it costs one test of a pointer.
#pragma once

#include <cstdint>

#include "nccl/types.h"

namespace heddle::nccl {

class Link;

// NCCL hands it over at init; null changes nothing. Any thread.
void set_profiler_callback(ProfilerCallback callback);

class TransferProfile {
 public:
  // `parent`: the phandle of isend or irecv; null: no profiler records.
  void begin(void* parent, const Link& link, uint64_t bytes);
  // `bytes`: of the message. What was retransmitted is counted over the link: transfers that run at
  // the same time share it.
  void end(const Link& link, uint64_t bytes);

 private:
  void* parent_ = nullptr;
  void* event_ = nullptr;  // the profiler's
  uint64_t repeated_before_ = 0;
};

}  // namespace heddle::nccl
