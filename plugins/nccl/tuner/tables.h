// The tuner tables that the library exports as ncclTunerPlugin_v2 to _v7: one implementation behind
// thin adapters. No function of a table fails, since NCCL ends the communicator or the collective
// where one does; what goes wrong is logged and the choice left to NCCL.
#pragma once

#include "nccl/tuner_v2.h"
#include "nccl/tuner_v3.h"
#include "nccl/tuner_v4.h"
#include "nccl/tuner_v5.h"
#include "nccl/tuner_v6.h"
#include "nccl/tuner_v7.h"

namespace heddle::nccl {

// Version 2 has no table of costs, so which choices NCCL offers is unknown and all are left to it.
extern const TunerV2 kTunerTableV2;
extern const TunerV3 kTunerTableV3;
extern const TunerV4 kTunerTableV4;
extern const TunerV5 kTunerTableV5;
extern const TunerV6 kTunerTableV6;
extern const TunerV7 kTunerTableV7;

}  // namespace heddle::nccl
