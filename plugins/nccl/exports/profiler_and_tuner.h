// The tables of the profiler (versions 1 to 7) and the tuner (2 to 7) under NCCL's names. NCCL
// falls back to the net plugin's library where NCCL_PROFILER_PLUGIN and NCCL_TUNER_PLUGIN are
// unset.
#pragma once

#include "plugins/nccl/profiler/tables.h"
#include "plugins/nccl/tuner/tables.h"

// NOLINTBEGIN: NCCL's names
extern "C" {
extern const heddle::nccl::profiler_v7::Profiler ncclProfiler_v7;
extern const heddle::nccl::profiler_v6::Profiler ncclProfiler_v6;
extern const heddle::nccl::profiler_v5::Profiler ncclProfiler_v5;
extern const heddle::nccl::profiler_v4::Profiler ncclProfiler_v4;
extern const heddle::nccl::profiler_v3::Profiler ncclProfiler_v3;
extern const heddle::nccl::profiler_v2::Profiler ncclProfiler_v2;
extern const heddle::nccl::profiler_v1::Profiler ncclProfiler_v1;

extern const heddle::nccl::TunerV7 ncclTunerPlugin_v7;
extern const heddle::nccl::TunerV6 ncclTunerPlugin_v6;
extern const heddle::nccl::TunerV5 ncclTunerPlugin_v5;
extern const heddle::nccl::TunerV4 ncclTunerPlugin_v4;
extern const heddle::nccl::TunerV3 ncclTunerPlugin_v3;
extern const heddle::nccl::TunerV2 ncclTunerPlugin_v2;
}
// NOLINTEND
