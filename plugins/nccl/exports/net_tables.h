// The symbols that NCCL looks up in the library for its network, newest first.
#pragma once

#include "nccl/net_v10.h"
#include "nccl/net_v11.h"
#include "nccl/net_v12.h"
#include "nccl/net_v6.h"
#include "nccl/net_v7.h"
#include "nccl/net_v8.h"
#include "nccl/net_v9.h"

// NOLINTBEGIN: NCCL's names
extern "C" {
extern const heddle::nccl::v12::Net ncclNetPlugin_v12;
extern const heddle::nccl::v11::Net ncclNetPlugin_v11;
extern const heddle::nccl::v10::Net ncclNetPlugin_v10;
extern const heddle::nccl::v9::Net ncclNetPlugin_v9;
extern const heddle::nccl::v8::Net ncclNetPlugin_v8;
extern const heddle::nccl::v7::Net ncclNetPlugin_v7;
extern const heddle::nccl::v6::Net ncclNetPlugin_v6;
}
// NOLINTEND
