// heddle's profiler as NCCL's tables, one a version, over one implementation. plugins/nccl/exports
// exports them as ncclProfiler_v1 to ncclProfiler_v7.
#pragma once

#include "nccl/profiler_v1.h"
#include "nccl/profiler_v2.h"
#include "nccl/profiler_v3.h"
#include "nccl/profiler_v4.h"
#include "nccl/profiler_v5.h"
#include "nccl/profiler_v6.h"
#include "nccl/profiler_v7.h"

namespace heddle::nccl {

extern const profiler_v1::Profiler kProfilerV1;
extern const profiler_v2::Profiler kProfilerV2;
extern const profiler_v3::Profiler kProfilerV3;
extern const profiler_v4::Profiler kProfilerV4;
extern const profiler_v5::Profiler kProfilerV5;
extern const profiler_v6::Profiler kProfilerV6;
extern const profiler_v7::Profiler kProfilerV7;

}  // namespace heddle::nccl
