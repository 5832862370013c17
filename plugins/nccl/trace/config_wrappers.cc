// The wrappers of the collectives with a configuration for each call, which NCCL has from 2.31 on.
#include "plugins/nccl/trace/forward.h"
#include "plugins/nccl/trace/nccl_calls.h"

namespace heddle::nccl::trace {

using events::Operation;

extern "C" {

Status ncclAllReduceConfig(const void* in, void* out, size_t count, int type, int op, Comm comm,
                           Stream stream, const void* config) {
  return pass_data_call<"ncclAllReduceConfig">(ncclAllReduceConfig,
                                               {Operation::kAllreduce, comm, type, count}, in, out,
                                               count, type, op, comm, stream, config);
}

Status ncclBroadcastConfig(const void* in, void* out, size_t count, int type, int root, Comm comm,
                           Stream stream, const void* config) {
  return pass_data_call<"ncclBroadcastConfig">(ncclBroadcastConfig,
                                               {Operation::kBroadcast, comm, type, count, root}, in,
                                               out, count, type, root, comm, stream, config);
}

Status ncclReduceConfig(const void* in, void* out, size_t count, int type, int op, int root,
                        Comm comm, Stream stream, const void* config) {
  return pass_data_call<"ncclReduceConfig">(ncclReduceConfig,
                                            {Operation::kReduce, comm, type, count, root}, in, out,
                                            count, type, op, root, comm, stream, config);
}

Status ncclAllGatherConfig(const void* in, void* out, size_t count, int type, Comm comm,
                           Stream stream, const void* config) {
  return pass_data_call<"ncclAllGatherConfig">(ncclAllGatherConfig,
                                               {Operation::kAllgather, comm, type, count}, in, out,
                                               count, type, comm, stream, config);
}

Status ncclReduceScatterConfig(const void* in, void* out, size_t count, int type, int op, Comm comm,
                               Stream stream, const void* config) {
  return pass_data_call<"ncclReduceScatterConfig">(ncclReduceScatterConfig,
                                                   {Operation::kReducescatter, comm, type, count},
                                                   in, out, count, type, op, comm, stream, config);
}

Status ncclAlltoAllConfig(const void* in, void* out, size_t count, int type, Comm comm,
                          Stream stream, const void* config) {
  return pass_data_call<"ncclAlltoAllConfig">(ncclAlltoAllConfig,
                                              {Operation::kAlltoall, comm, type, count}, in, out,
                                              count, type, comm, stream, config);
}

Status ncclGatherConfig(const void* in, void* out, size_t count, int type, int root, Comm comm,
                        Stream stream, const void* config) {
  return pass_data_call<"ncclGatherConfig">(ncclGatherConfig,
                                            {Operation::kGather, comm, type, count, root}, in, out,
                                            count, type, root, comm, stream, config);
}

Status ncclScatterConfig(const void* in, void* out, size_t count, int type, int root, Comm comm,
                         Stream stream, const void* config) {
  return pass_data_call<"ncclScatterConfig">(ncclScatterConfig,
                                             {Operation::kScatter, comm, type, count, root}, in,
                                             out, count, type, root, comm, stream, config);
}

}  // extern "C"

}  // namespace heddle::nccl::trace
