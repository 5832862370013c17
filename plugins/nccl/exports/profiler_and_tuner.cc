// The symbols that NCCL looks up in the net plugin's library for its profiler and tuner. They are
// copies: NCCL takes the tables' addresses, not those of the objects that define them.
#include "plugins/nccl/exports/profiler_and_tuner.h"

// NOLINTBEGIN: NCCL's names
const heddle::nccl::profiler_v7::Profiler ncclProfiler_v7 = heddle::nccl::kProfilerV7;
const heddle::nccl::profiler_v6::Profiler ncclProfiler_v6 = heddle::nccl::kProfilerV6;
const heddle::nccl::profiler_v5::Profiler ncclProfiler_v5 = heddle::nccl::kProfilerV5;
const heddle::nccl::profiler_v4::Profiler ncclProfiler_v4 = heddle::nccl::kProfilerV4;
const heddle::nccl::profiler_v3::Profiler ncclProfiler_v3 = heddle::nccl::kProfilerV3;
const heddle::nccl::profiler_v2::Profiler ncclProfiler_v2 = heddle::nccl::kProfilerV2;
const heddle::nccl::profiler_v1::Profiler ncclProfiler_v1 = heddle::nccl::kProfilerV1;

const heddle::nccl::TunerV7 ncclTunerPlugin_v7 = heddle::nccl::kTunerTableV7;
const heddle::nccl::TunerV6 ncclTunerPlugin_v6 = heddle::nccl::kTunerTableV6;
const heddle::nccl::TunerV5 ncclTunerPlugin_v5 = heddle::nccl::kTunerTableV5;
const heddle::nccl::TunerV4 ncclTunerPlugin_v4 = heddle::nccl::kTunerTableV4;
const heddle::nccl::TunerV3 ncclTunerPlugin_v3 = heddle::nccl::kTunerTableV3;
const heddle::nccl::TunerV2 ncclTunerPlugin_v2 = heddle::nccl::kTunerTableV2;
// NOLINTEND
