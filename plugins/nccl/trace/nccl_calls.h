// The public functions of NCCL that this library wraps, as declared by NCCL 2.28 to 2.31; own
// declarations, so that no NCCL header is needed. Enumerations are ints, handles are opaque
// pointers; what is passed by value has its size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl/types.h"

namespace heddle::nccl::trace {

// ncclUniqueId: 128 bytes, which ncclCommInitRank takes by value (in memory, by the x86-64 ABI).
struct UniqueId {
  char bytes[128];
};
static_assert(sizeof(UniqueId) == 128 && alignof(UniqueId) == 1);

// ncclWaitSignalDesc_t
struct SignalWait {
  int count;
  int peer;
  int signal;
  int context;
};

using Comm = void*;    // ncclComm_t
using Stream = void*;  // cudaStream_t
using Window = void*;  // ncclWindow_t
using Config = void;   // ncclConfig_t, which is extended from version to version

extern "C" {

Status ncclGetVersion(int* version);
Status ncclGetUniqueId(UniqueId* id);

Status ncclCommInitRank(Comm* comm, int size, UniqueId id, int rank);
Status ncclCommInitRankConfig(Comm* comm, int size, UniqueId id, int rank, Config* config);
Status ncclCommInitRankScalable(Comm* comm, int size, int rank, int id_count, UniqueId* ids,
                                Config* config);
Status ncclCommInitAll(Comm* comms, int count, const int* devices);
Status ncclCommSplit(Comm comm, int color, int key, Comm* made, Config* config);
Status ncclCommShrink(Comm comm, int* excluded, int excluded_count, Comm* made, Config* config,
                      int flags);
Status ncclCommGetUniqueId(Comm comm, UniqueId* id);
Status ncclCommGrow(Comm comm, int size, const UniqueId* id, int rank, Comm* made, Config* config);
Status ncclCommFinalize(Comm comm);
Status ncclCommDestroy(Comm comm);
Status ncclCommAbort(Comm comm);
Status ncclCommRevoke(Comm comm, int flags);
Status ncclCommSuspend(Comm comm, int flags);
Status ncclCommResume(Comm comm);

Status ncclMemAlloc(void** memory, size_t bytes);
Status ncclMemFree(void* memory);
Status ncclCommRegister(Comm comm, void* memory, size_t bytes, void** handle);
Status ncclCommDeregister(Comm comm, void* handle);
Status ncclCommWindowRegister(Comm comm, void* memory, size_t bytes, Window* window, int flags);
Status ncclCommWindowDeregister(Comm comm, Window window);
Status ncclDevCommCreate(Comm comm, const void* requirements, void* made);
Status ncclDevCommDestroy(Comm comm, const void* device_comm);
Status ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence, Comm comm);
Status ncclRedOpDestroy(int op, Comm comm);

Status ncclReduce(const void* in, void* out, size_t count, int type, int op, int root, Comm comm,
                  Stream stream);
Status ncclBcast(void* memory, size_t count, int type, int root, Comm comm, Stream stream);
Status ncclBroadcast(const void* in, void* out, size_t count, int type, int root, Comm comm,
                     Stream stream);
Status ncclAllReduce(const void* in, void* out, size_t count, int type, int op, Comm comm,
                     Stream stream);
Status ncclReduceScatter(const void* in, void* out, size_t count, int type, int op, Comm comm,
                         Stream stream);
Status ncclAllGather(const void* in, void* out, size_t count, int type, Comm comm, Stream stream);
Status ncclAlltoAll(const void* in, void* out, size_t count, int type, Comm comm, Stream stream);
Status ncclGather(const void* in, void* out, size_t count, int type, int root, Comm comm,
                  Stream stream);
Status ncclScatter(const void* in, void* out, size_t count, int type, int root, Comm comm,
                   Stream stream);
Status ncclSend(const void* memory, size_t count, int type, int peer, Comm comm, Stream stream);
Status ncclRecv(void* memory, size_t count, int type, int peer, Comm comm, Stream stream);

Status ncclAllReduceConfig(const void* in, void* out, size_t count, int type, int op, Comm comm,
                           Stream stream, const void* config);
Status ncclBroadcastConfig(const void* in, void* out, size_t count, int type, int root, Comm comm,
                           Stream stream, const void* config);
Status ncclReduceConfig(const void* in, void* out, size_t count, int type, int op, int root,
                        Comm comm, Stream stream, const void* config);
Status ncclAllGatherConfig(const void* in, void* out, size_t count, int type, Comm comm,
                           Stream stream, const void* config);
Status ncclReduceScatterConfig(const void* in, void* out, size_t count, int type, int op, Comm comm,
                               Stream stream, const void* config);
Status ncclAlltoAllConfig(const void* in, void* out, size_t count, int type, Comm comm,
                          Stream stream, const void* config);
Status ncclGatherConfig(const void* in, void* out, size_t count, int type, int root, Comm comm,
                        Stream stream, const void* config);
Status ncclScatterConfig(const void* in, void* out, size_t count, int type, int root, Comm comm,
                         Stream stream, const void* config);

Status ncclPutSignal(const void* memory, size_t count, int type, int peer, Window window,
                     size_t offset, int signal, int context, unsigned flags, Comm comm,
                     Stream stream);
Status ncclSignal(int peer, int signal, int context, unsigned flags, Comm comm, Stream stream);
Status ncclWaitSignal(int count, SignalWait* waits, Comm comm, Stream stream);

Status ncclGroupStart();
Status ncclGroupEnd();
Status ncclGroupSimulateEnd(void* info);

}  // extern "C"

}  // namespace heddle::nccl::trace
