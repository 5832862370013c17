// The wrappers of NCCL's calls that move data between ranks. `count` is as in call_made: of
// all-gather, reduce-scatter, all-to-all, gather and scatter that of one block, as in NCCL.
#include "plugins/nccl/trace/forward.h"
#include "plugins/nccl/trace/nccl_calls.h"

namespace heddle::nccl::trace {

using events::Operation;

extern "C" {

Status ncclReduce(const void* in, void* out, size_t count, int type, int op, int root, Comm comm,
                  Stream stream) {
  return pass_data_call<"ncclReduce">(ncclReduce, {Operation::kReduce, comm, type, count, root}, in,
                                      out, count, type, op, root, comm, stream);
}

Status ncclBcast(void* memory, size_t count, int type, int root, Comm comm, Stream stream) {
  return pass_data_call<"ncclBcast">(ncclBcast, {Operation::kBroadcast, comm, type, count, root},
                                     memory, count, type, root, comm, stream);
}

Status ncclBroadcast(const void* in, void* out, size_t count, int type, int root, Comm comm,
                     Stream stream) {
  return pass_data_call<"ncclBroadcast">(ncclBroadcast,
                                         {Operation::kBroadcast, comm, type, count, root}, in, out,
                                         count, type, root, comm, stream);
}

Status ncclAllReduce(const void* in, void* out, size_t count, int type, int op, Comm comm,
                     Stream stream) {
  return pass_data_call<"ncclAllReduce">(ncclAllReduce, {Operation::kAllreduce, comm, type, count},
                                         in, out, count, type, op, comm, stream);
}

Status ncclReduceScatter(const void* in, void* out, size_t count, int type, int op, Comm comm,
                         Stream stream) {
  return pass_data_call<"ncclReduceScatter">(ncclReduceScatter,
                                             {Operation::kReducescatter, comm, type, count}, in,
                                             out, count, type, op, comm, stream);
}

Status ncclAllGather(const void* in, void* out, size_t count, int type, Comm comm, Stream stream) {
  return pass_data_call<"ncclAllGather">(ncclAllGather, {Operation::kAllgather, comm, type, count},
                                         in, out, count, type, comm, stream);
}

Status ncclAlltoAll(const void* in, void* out, size_t count, int type, Comm comm, Stream stream) {
  return pass_data_call<"ncclAlltoAll">(ncclAlltoAll, {Operation::kAlltoall, comm, type, count}, in,
                                        out, count, type, comm, stream);
}

Status ncclGather(const void* in, void* out, size_t count, int type, int root, Comm comm,
                  Stream stream) {
  return pass_data_call<"ncclGather">(ncclGather, {Operation::kGather, comm, type, count, root}, in,
                                      out, count, type, root, comm, stream);
}

Status ncclScatter(const void* in, void* out, size_t count, int type, int root, Comm comm,
                   Stream stream) {
  return pass_data_call<"ncclScatter">(ncclScatter, {Operation::kScatter, comm, type, count, root},
                                       in, out, count, type, root, comm, stream);
}

Status ncclSend(const void* memory, size_t count, int type, int peer, Comm comm, Stream stream) {
  return pass_data_call<"ncclSend">(ncclSend, {Operation::kSend, comm, type, count, peer}, memory,
                                    count, type, peer, comm, stream);
}

Status ncclRecv(void* memory, size_t count, int type, int peer, Comm comm, Stream stream) {
  return pass_data_call<"ncclRecv">(ncclRecv, {Operation::kRecv, comm, type, count, peer}, memory,
                                    count, type, peer, comm, stream);
}

Status ncclPutSignal(const void* memory, size_t count, int type, int peer, Window window,
                     size_t offset, int signal, int context, unsigned flags, Comm comm,
                     Stream stream) {
  return pass_data_call<"ncclPutSignal">(
      ncclPutSignal, {Operation::kSend, comm, type, count, peer, true}, memory, count, type, peer,
      window, offset, signal, context, flags, comm, stream);
}

Status ncclSignal(int peer, int signal, int context, unsigned flags, Comm comm, Stream stream) {
  return pass_library_call<"ncclSignal">(ncclSignal, {.comm = comm}, peer, signal, context, flags,
                                         comm, stream);
}

Status ncclWaitSignal(int count, SignalWait* waits, Comm comm, Stream stream) {
  return pass_library_call<"ncclWaitSignal">(ncclWaitSignal, {.comm = comm}, count, waits, comm,
                                             stream);
}

}  // extern "C"

}  // namespace heddle::nccl::trace
