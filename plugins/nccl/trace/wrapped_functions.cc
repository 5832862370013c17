// See wrapped_functions.h.
#include "plugins/nccl/trace/wrapped_functions.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "plugins/nccl/trace/cuda_calls.h"
#include "plugins/nccl/trace/nccl_calls.h"
#include "plugins/nccl/trace/next_function.h"

namespace heddle::nccl::trace {
namespace {

template <FunctionName kName, typename Function>
WrappedFunction entry(Function* own) {
  static Function* wrapper = nullptr;
  wrapper = own;
  return {kName.text, reinterpret_cast<void*>(own),
          [] { return reinterpret_cast<void*>(next_function<kName>(wrapper)); }};
}

// Made at first use: the addresses are known once the library is loaded.
const auto& table() {
  static const std::array kTable = {
      entry<"cuMemcpyPeer">(cuMemcpyPeer),
      entry<"cuMemcpyPeerAsync">(cuMemcpyPeerAsync),
      entry<"cuMemcpyPeerAsync_ptsz">(cuMemcpyPeerAsync_ptsz),
      entry<"cuMemcpyPeer_ptds">(cuMemcpyPeer_ptds),
      entry<"cudaMemcpy">(cudaMemcpy),
      entry<"cudaMemcpy3DPeer">(cudaMemcpy3DPeer),
      entry<"cudaMemcpy3DPeerAsync">(cudaMemcpy3DPeerAsync),
      entry<"cudaMemcpy3DPeerAsync_ptsz">(cudaMemcpy3DPeerAsync_ptsz),
      entry<"cudaMemcpy3DPeer_ptds">(cudaMemcpy3DPeer_ptds),
      entry<"cudaMemcpyAsync">(cudaMemcpyAsync),
      entry<"cudaMemcpyAsync_ptsz">(cudaMemcpyAsync_ptsz),
      entry<"cudaMemcpyPeer">(cudaMemcpyPeer),
      entry<"cudaMemcpyPeerAsync">(cudaMemcpyPeerAsync),
      entry<"cudaMemcpy_ptds">(cudaMemcpy_ptds),
      entry<"ncclAllGather">(ncclAllGather),
      entry<"ncclAllGatherConfig">(ncclAllGatherConfig),
      entry<"ncclAllReduce">(ncclAllReduce),
      entry<"ncclAllReduceConfig">(ncclAllReduceConfig),
      entry<"ncclAlltoAll">(ncclAlltoAll),
      entry<"ncclAlltoAllConfig">(ncclAlltoAllConfig),
      entry<"ncclBcast">(ncclBcast),
      entry<"ncclBroadcast">(ncclBroadcast),
      entry<"ncclBroadcastConfig">(ncclBroadcastConfig),
      entry<"ncclCommAbort">(ncclCommAbort),
      entry<"ncclCommDeregister">(ncclCommDeregister),
      entry<"ncclCommDestroy">(ncclCommDestroy),
      entry<"ncclCommFinalize">(ncclCommFinalize),
      entry<"ncclCommGetUniqueId">(ncclCommGetUniqueId),
      entry<"ncclCommGrow">(ncclCommGrow),
      entry<"ncclCommInitAll">(ncclCommInitAll),
      entry<"ncclCommInitRank">(ncclCommInitRank),
      entry<"ncclCommInitRankConfig">(ncclCommInitRankConfig),
      entry<"ncclCommInitRankScalable">(ncclCommInitRankScalable),
      entry<"ncclCommRegister">(ncclCommRegister),
      entry<"ncclCommResume">(ncclCommResume),
      entry<"ncclCommRevoke">(ncclCommRevoke),
      entry<"ncclCommShrink">(ncclCommShrink),
      entry<"ncclCommSplit">(ncclCommSplit),
      entry<"ncclCommSuspend">(ncclCommSuspend),
      entry<"ncclCommWindowDeregister">(ncclCommWindowDeregister),
      entry<"ncclCommWindowRegister">(ncclCommWindowRegister),
      entry<"ncclDevCommCreate">(ncclDevCommCreate),
      entry<"ncclDevCommDestroy">(ncclDevCommDestroy),
      entry<"ncclGather">(ncclGather),
      entry<"ncclGatherConfig">(ncclGatherConfig),
      entry<"ncclGetUniqueId">(ncclGetUniqueId),
      entry<"ncclGetVersion">(ncclGetVersion),
      entry<"ncclGroupEnd">(ncclGroupEnd),
      entry<"ncclGroupSimulateEnd">(ncclGroupSimulateEnd),
      entry<"ncclGroupStart">(ncclGroupStart),
      entry<"ncclMemAlloc">(ncclMemAlloc),
      entry<"ncclMemFree">(ncclMemFree),
      entry<"ncclPutSignal">(ncclPutSignal),
      entry<"ncclRecv">(ncclRecv),
      entry<"ncclRedOpCreatePreMulSum">(ncclRedOpCreatePreMulSum),
      entry<"ncclRedOpDestroy">(ncclRedOpDestroy),
      entry<"ncclReduce">(ncclReduce),
      entry<"ncclReduceConfig">(ncclReduceConfig),
      entry<"ncclReduceScatter">(ncclReduceScatter),
      entry<"ncclReduceScatterConfig">(ncclReduceScatterConfig),
      entry<"ncclScatter">(ncclScatter),
      entry<"ncclScatterConfig">(ncclScatterConfig),
      entry<"ncclSend">(ncclSend),
      entry<"ncclSignal">(ncclSignal),
      entry<"ncclWaitSignal">(ncclWaitSignal),
  };
  return kTable;
}

}  // namespace

std::span<const WrappedFunction> wrapped_functions() { return table(); }

const WrappedFunction* find_wrapped_function(const char* name) {
  const auto found = std::lower_bound(table().begin(), table().end(), name,
                                      [](const WrappedFunction& each, const char* sought) {
                                        return std::strcmp(each.name, sought) < 0;
                                      });
  return found != table().end() && std::strcmp(found->name, name) == 0 ? &*found : nullptr;
}

}  // namespace heddle::nccl::trace
