// A stand-in for libnccl.so.2, for tests: it logs every call (standin_log.h) and moves nothing. A
// call with kFailingCount elements or bytes fails. It has no collectives with a configuration, as
// NCCL before 2.31.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <new>

#include "plugins/nccl/trace/nccl_calls.h"
#include "plugins/nccl/trace/testing/standin_log.h"

namespace heddle::nccl::trace {

using testing::log_call;

namespace {

constexpr size_t kFailingCount = 13;

struct StandinComm {
  int size;
  int rank;
  int device;
};

Status status_of_count(size_t count) { return count == kFailingCount ? kInternalError : kSuccess; }

StandinComm* comm_of(Comm comm) { return static_cast<StandinComm*>(comm); }

// Handles lie at the same addresses in every run, so that two runs' logs can be compared. That of
// an ended communicator is the next one's.
constexpr size_t kMostComms = 256;
std::atomic<bool> taken[kMostComms];

StandinComm* handles() {
  constexpr size_t kBytes = kMostComms * sizeof(StandinComm);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  static void* const at = [] {
    void* const wanted = reinterpret_cast<void*>(0x110000000000);
    void* const fixed =
        mmap(wanted, kBytes, PROT_READ | PROT_WRITE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    // Of a second stand-in in the process the place is taken.
    return fixed != MAP_FAILED ? fixed
                               : mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  }();
  return static_cast<StandinComm*>(at);
}

Status make(Comm* made, int size, int rank, int device) {
  size_t at = 0;
  while (taken[at].exchange(true)) ++at;
  *made = new (handles() + at) StandinComm{size, rank, device};
  return kSuccess;
}

void release(Comm comm) { taken[comm_of(comm) - handles()] = false; }

}  // namespace

extern "C" {

// Those that are not wrapped.
Status ncclCommCount(Comm comm, int* count) {
  *count = comm_of(comm)->size;
  return kSuccess;
}
Status ncclCommUserRank(Comm comm, int* rank) {
  *rank = comm_of(comm)->rank;
  return kSuccess;
}

Status ncclGetVersion(int* version) {
  log_call("ncclGetVersion", version);
  *version = 23007;
  return kSuccess;
}
Status ncclGetUniqueId(UniqueId* id) {
  log_call("ncclGetUniqueId", id);
  std::memset(id->bytes, 'u', sizeof id->bytes);
  return kSuccess;
}

Status ncclCommInitRank(Comm* comm, int size, UniqueId id, int rank) {
  log_call("ncclCommInitRank", comm, size, id, rank);
  if (size == static_cast<int>(kFailingCount)) return kSystemError;
  return make(comm, size, rank, 0);
}
Status ncclCommInitRankConfig(Comm* comm, int size, UniqueId id, int rank, Config* config) {
  log_call("ncclCommInitRankConfig", comm, size, id, rank, config);
  make(comm, size, rank, 0);
  return kInProgress;  // without blocking
}
Status ncclCommInitRankScalable(Comm* comm, int size, int rank, int id_count, UniqueId* ids,
                                Config* config) {
  log_call("ncclCommInitRankScalable", comm, size, rank, id_count, ids, ids[1], config);
  return make(comm, size, rank, 0);
}
Status ncclCommInitAll(Comm* comms, int count, const int* devices) {
  log_call("ncclCommInitAll", comms, count, devices);
  for (int i = 0; i < count; ++i) make(&comms[i], count, i, devices == nullptr ? i : devices[i]);
  return kSuccess;
}
Status ncclCommSplit(Comm comm, int color, int key, Comm* made, Config* config) {
  log_call("ncclCommSplit", comm, color, key, made, config);
  *made = nullptr;
  return color < 0 ? kSuccess : make(made, 2, key, 0);
}
Status ncclCommShrink(Comm comm, int* excluded, int excluded_count, Comm* made, Config* config,
                      int flags) {
  log_call("ncclCommShrink", comm, excluded, excluded_count, made, config, flags);
  return make(made, comm_of(comm)->size - excluded_count, 0, 0);
}
Status ncclCommGetUniqueId(Comm comm, UniqueId* id) {
  log_call("ncclCommGetUniqueId", comm, id);
  std::memset(id->bytes, 'g', sizeof id->bytes);
  return kSuccess;
}
Status ncclCommGrow(Comm comm, int size, const UniqueId* id, int rank, Comm* made, Config* config) {
  log_call("ncclCommGrow", comm, size, id, rank, made, config);
  return make(made, size, comm == nullptr ? rank : comm_of(comm)->rank, 0);
}
Status ncclCommFinalize(Comm comm) {
  log_call("ncclCommFinalize", comm);
  return kSuccess;
}
Status ncclCommDestroy(Comm comm) {
  log_call("ncclCommDestroy", comm);
  release(comm);
  return kSuccess;
}
Status ncclCommAbort(Comm comm) {
  log_call("ncclCommAbort", comm);
  release(comm);
  return kSuccess;
}
Status ncclCommRevoke(Comm comm, int flags) {
  log_call("ncclCommRevoke", comm, flags);
  return kSuccess;
}
Status ncclCommSuspend(Comm comm, int flags) {
  log_call("ncclCommSuspend", comm, flags);
  return kSuccess;
}
Status ncclCommResume(Comm comm) {
  log_call("ncclCommResume", comm);
  return kSuccess;
}

Status ncclMemAlloc(void** memory, size_t bytes) {
  log_call("ncclMemAlloc", memory, bytes);
  *memory = memory;
  return status_of_count(bytes);
}
Status ncclMemFree(void* memory) {
  log_call("ncclMemFree", memory);
  return kSuccess;
}
Status ncclCommRegister(Comm comm, void* memory, size_t bytes, void** handle) {
  log_call("ncclCommRegister", comm, memory, bytes, handle);
  *handle = memory;
  return kSuccess;
}
Status ncclCommDeregister(Comm comm, void* handle) {
  log_call("ncclCommDeregister", comm, handle);
  return kSuccess;
}
Status ncclCommWindowRegister(Comm comm, void* memory, size_t bytes, Window* window, int flags) {
  log_call("ncclCommWindowRegister", comm, memory, bytes, window, flags);
  *window = memory;
  return kSuccess;
}
Status ncclCommWindowDeregister(Comm comm, Window window) {
  log_call("ncclCommWindowDeregister", comm, window);
  return kSuccess;
}
Status ncclDevCommCreate(Comm comm, const void* requirements, void* made) {
  log_call("ncclDevCommCreate", comm, requirements, made);
  return kSuccess;
}
Status ncclDevCommDestroy(Comm comm, const void* device_comm) {
  log_call("ncclDevCommDestroy", comm, device_comm);
  return kSuccess;
}
Status ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence, Comm comm) {
  log_call("ncclRedOpCreatePreMulSum", op, scalar, type, residence, comm);
  *op = 5;
  return kSuccess;
}
Status ncclRedOpDestroy(int op, Comm comm) {
  log_call("ncclRedOpDestroy", op, comm);
  return kSuccess;
}

Status ncclReduce(const void* in, void* out, size_t count, int type, int op, int root, Comm comm,
                  Stream stream) {
  log_call("ncclReduce", in, out, count, type, op, root, comm, stream);
  return status_of_count(count);
}
Status ncclBroadcast(const void* in, void* out, size_t count, int type, int root, Comm comm,
                     Stream stream) {
  log_call("ncclBroadcast", in, out, count, type, root, comm, stream);
  return status_of_count(count);
}
// NCCL's own calls the other by its public name, which the preloaded library has taken.
Status ncclBcast(void* memory, size_t count, int type, int root, Comm comm, Stream stream) {
  log_call("ncclBcast", memory, count, type, root, comm, stream);
  return ncclBroadcast(memory, memory, count, type, root, comm, stream);
}
Status ncclAllReduce(const void* in, void* out, size_t count, int type, int op, Comm comm,
                     Stream stream) {
  log_call("ncclAllReduce", in, out, count, type, op, comm, stream);
  return status_of_count(count);
}
Status ncclReduceScatter(const void* in, void* out, size_t count, int type, int op, Comm comm,
                         Stream stream) {
  log_call("ncclReduceScatter", in, out, count, type, op, comm, stream);
  return status_of_count(count);
}
Status ncclAllGather(const void* in, void* out, size_t count, int type, Comm comm, Stream stream) {
  log_call("ncclAllGather", in, out, count, type, comm, stream);
  return status_of_count(count);
}
Status ncclAlltoAll(const void* in, void* out, size_t count, int type, Comm comm, Stream stream) {
  log_call("ncclAlltoAll", in, out, count, type, comm, stream);
  return status_of_count(count);
}
Status ncclGather(const void* in, void* out, size_t count, int type, int root, Comm comm,
                  Stream stream) {
  log_call("ncclGather", in, out, count, type, root, comm, stream);
  return status_of_count(count);
}
Status ncclScatter(const void* in, void* out, size_t count, int type, int root, Comm comm,
                   Stream stream) {
  log_call("ncclScatter", in, out, count, type, root, comm, stream);
  return status_of_count(count);
}
Status ncclSend(const void* memory, size_t count, int type, int peer, Comm comm, Stream stream) {
  log_call("ncclSend", memory, count, type, peer, comm, stream);
  return status_of_count(count);
}
Status ncclRecv(void* memory, size_t count, int type, int peer, Comm comm, Stream stream) {
  log_call("ncclRecv", memory, count, type, peer, comm, stream);
  return status_of_count(count);
}
Status ncclPutSignal(const void* memory, size_t count, int type, int peer, Window window,
                     size_t offset, int signal, int context, unsigned flags, Comm comm,
                     Stream stream) {
  log_call("ncclPutSignal", memory, count, type, peer, window, offset, signal, context, flags, comm,
           stream);
  return status_of_count(count);
}
Status ncclSignal(int peer, int signal, int context, unsigned flags, Comm comm, Stream stream) {
  log_call("ncclSignal", peer, signal, context, flags, comm, stream);
  return kSuccess;
}
Status ncclWaitSignal(int count, SignalWait* waits, Comm comm, Stream stream) {
  log_call("ncclWaitSignal", count, waits, comm, stream);
  return kSuccess;
}

Status ncclGroupStart() {
  log_call("ncclGroupStart");
  return kSuccess;
}
Status ncclGroupEnd() {
  log_call("ncclGroupEnd");
  return std::getenv("STANDIN_GROUPS_FAIL") == nullptr ? kSuccess : kRemoteError;
}
Status ncclGroupSimulateEnd(void* info) {
  log_call("ncclGroupSimulateEnd", info);
  return kSuccess;
}

}  // extern "C"

}  // namespace heddle::nccl::trace
