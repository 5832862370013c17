// The wrappers of NCCL's calls about memory, windows, device communicators and operators.
#include "plugins/nccl/trace/forward.h"
#include "plugins/nccl/trace/nccl_calls.h"

namespace heddle::nccl::trace {

extern "C" {

Status ncclMemAlloc(void** memory, size_t bytes) {
  return pass_library_call<"ncclMemAlloc">(ncclMemAlloc, {.bytes = bytes}, memory, bytes);
}

Status ncclMemFree(void* memory) {
  return pass_library_call<"ncclMemFree">(ncclMemFree, {}, memory);
}

Status ncclCommRegister(Comm comm, void* memory, size_t bytes, void** handle) {
  return pass_library_call<"ncclCommRegister">(ncclCommRegister, {comm, bytes}, comm, memory, bytes,
                                               handle);
}

Status ncclCommDeregister(Comm comm, void* handle) {
  return pass_library_call<"ncclCommDeregister">(ncclCommDeregister, {.comm = comm}, comm, handle);
}

Status ncclCommWindowRegister(Comm comm, void* memory, size_t bytes, Window* window, int flags) {
  return pass_library_call<"ncclCommWindowRegister">(ncclCommWindowRegister, {comm, bytes}, comm,
                                                     memory, bytes, window, flags);
}

Status ncclCommWindowDeregister(Comm comm, Window window) {
  return pass_library_call<"ncclCommWindowDeregister">(ncclCommWindowDeregister, {.comm = comm},
                                                       comm, window);
}

Status ncclDevCommCreate(Comm comm, const void* requirements, void* made) {
  return pass_library_call<"ncclDevCommCreate">(ncclDevCommCreate, {.comm = comm}, comm,
                                                requirements, made);
}

Status ncclDevCommDestroy(Comm comm, const void* device_comm) {
  return pass_library_call<"ncclDevCommDestroy">(ncclDevCommDestroy, {.comm = comm}, comm,
                                                 device_comm);
}

Status ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence, Comm comm) {
  return pass_library_call<"ncclRedOpCreatePreMulSum">(ncclRedOpCreatePreMulSum, {.comm = comm}, op,
                                                       scalar, type, residence, comm);
}

Status ncclRedOpDestroy(int op, Comm comm) {
  return pass_library_call<"ncclRedOpDestroy">(ncclRedOpDestroy, {.comm = comm}, op, comm);
}

}  // extern "C"

}  // namespace heddle::nccl::trace
