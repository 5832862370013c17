// A net table of version 11 that lacks functions that NCCL calls, for the loader's refusal.
#include "nccl/net_v11.h"

extern "C" __attribute__((visibility("default"))) const heddle::nccl::v11::Net ncclNetPlugin_v11;
const heddle::nccl::v11::Net ncclNetPlugin_v11 = {.name = "Broken"};
