// See tables.h. An adapter translates a version's descriptors and passes them on. Nothing but init
// ever returns an error, and init fails no job: it logs, and records nothing.
#include "plugins/nccl/profiler/tables.h"

#include <exception>
#include <type_traits>

#include "plugins/nccl/host_log.h"
#include "plugins/nccl/profiler/names.h"
#include "plugins/nccl/profiler/process_profiler.h"

namespace heddle::nccl {
namespace {

using events::HostTask;

constexpr uint64_t kFromV1 =
    profiler::kGroup | profiler::kColl | profiler::kP2p | profiler::kProxyOp | profiler::kProxyStep;
constexpr uint64_t kFromV3 = kFromV1 | profiler::kKernelChannel | profiler::kNetPlugin;
constexpr uint64_t kFromV5 = kFromV3 | profiler::kGroupApi | profiler::kCollApi |
                             profiler::kP2pApi | profiler::kKernelLaunch;
constexpr uint64_t kFromV6 = kFromV5 | profiler::kCeColl | profiler::kCeSync | profiler::kCeBatch;
constexpr uint64_t kFromV7 = kFromV6 | profiler::kKernelPhase;

constexpr uint64_t known_kinds(int version) {
  if (version >= 7) return kFromV7;
  if (version == 6) return kFromV6;
  if (version == 5) return kFromV5;
  return version >= 3 ? kFromV3 : kFromV1;
}

// kProxyCtrl is in no level: NCCL's progress thread reports it in every idle turn.
uint64_t mask_of(ProfileLevel level, int version) {
  const uint64_t known = known_kinds(version);
  if (level == ProfileLevel::kAll) return known;
  uint64_t mask = profiler::kColl | profiler::kP2p | profiler::kKernelChannel | profiler::kCeColl;
  // Without kernels the proxy's operations show when a call ends.
  const bool kernels = (known & profiler::kKernelChannel) != 0;
  if (level == ProfileLevel::kProxy || !kernels) mask |= profiler::kProxyOp;
  if (level == ProfileLevel::kProxy) mask |= profiler::kProxyStep | profiler::kNetPlugin;
  return mask & known;
}

Status begin(void** context, int* mask, int version, const CommunicatorFacts& facts) {
  if (context == nullptr || mask == nullptr) return kInvalidArgument;
  *context = nullptr;
  *mask = 0;
  const Result<ProfilerSettings> settings = configured_profiler();
  if (!settings) {
    host_log().warn("nothing is profiled: " + settings.error().message());
    return kSuccess;
  }
  const Result<void*> made = process_profiler().begin_communicator(*settings, facts);
  if (!made) {
    host_log().warn("nothing is profiled: " + made.error().message());
    return kSuccess;
  }
  // The mask is one for the process: with a communicator that found no place others go on.
  *context = *made;
  if (!settings->recording.directory.empty()) {
    *mask = static_cast<int>(mask_of(process_profiler().level(), version));
  }
  return kSuccess;
}

template <int kVersion>
Status begin_safely(void** context, int* mask, const CommunicatorFacts& facts) noexcept {
  try {
    return begin(context, mask, kVersion, facts);
  } catch (const std::exception& error) {
    host_log().warn(std::string("nothing is profiled: ") + error.what());
    return kSuccess;
  }
}

template <int kVersion>
Status init_unnamed(void** context, int* mask) {
  return begin_safely<kVersion>(context, mask, {});
}

Status init_v4(void** context, int* mask, const char* /*name*/, uint64_t hash, int /*nodes*/,
               int ranks, int rank, Logger log) {
  host_log().set(log);
  return begin_safely<4>(context, mask, {hash, ranks, rank});
}

template <int kVersion>
Status init(void** context, uint64_t hash, int* mask, const char* /*name*/, int /*nodes*/,
            int ranks, int rank, Logger log) {
  host_log().set(log);
  return begin_safely<kVersion>(context, mask, {hash, ranks, rank});
}

Status finalize(void* context) {
  process_profiler().end_communicator(context);
  return kSuccess;
}

Status stop_event(void* event) {
  const Handle handle = Handle::of(event);
  if (handle.kind <= HandleKind::kIgnored) return kSuccess;
  Context* const context = process_profiler().context_of(handle);
  if (context != nullptr) context->end(handle);
  return kSuccess;
}

// ------------------------------------------------------------------- descriptors of calls

CallBegin call_of(const profiler_v1::Coll& coll) {
  CallBegin begin;
  begin.function = function_name(coll.function);
  begin.data_type = data_type_name(coll.data_type);
  begin.algorithm = algorithm_name(coll.algorithm);
  begin.protocol = protocol_name(coll.protocol);
  begin.sequence = coll.sequence;
  begin.count = coll.count;
  begin.root = coll.root;
  begin.channels = coll.max_channels;
  begin.comm_hash = coll.comm_hash;
  return begin;
}

CallBegin call_of(const profiler_v1::P2p& p2p) {
  CallBegin begin;
  begin.function = function_name(p2p.function);
  begin.data_type = data_type_name(p2p.data_type);
  begin.count = p2p.count;
  begin.root = p2p.peer;
  begin.comm_hash = p2p.comm_hash;
  return begin;
}

// Collectives from version 2 on, by kernels and by copy engines.
template <typename Coll>
CallBegin call_of_coll(const Coll& coll) {
  CallBegin begin;
  begin.function = coll.function;
  begin.data_type = coll.data_type;
  begin.sequence = coll.sequence;
  begin.count = coll.count;
  begin.root = coll.root;
  if constexpr (requires { coll.algorithm; }) {
    begin.algorithm = coll.algorithm;
    begin.protocol = coll.protocol;
  } else {
    begin.is_copy = true;
  }
  if constexpr (requires { coll.comm_hash; }) {
    begin.channels = coll.max_channels;
    begin.comm_hash = coll.comm_hash;
  } else if constexpr (requires { coll.channels; }) {
    // From version 4 on the number of kernels that will report themselves.
    begin.channels = coll.channels;
    begin.kernels = coll.channels;
  }
  if constexpr (requires { coll.is_symmetric; }) begin.is_symmetric = coll.is_symmetric;
  if constexpr (requires { coll.user_tag; }) begin.user_tag = coll.user_tag;
  return begin;
}

template <typename P2p>
CallBegin call_of_p2p(const P2p& p2p) {
  CallBegin begin;
  begin.function = p2p.function;
  begin.data_type = p2p.data_type;
  begin.count = p2p.count;
  begin.root = p2p.peer;
  if constexpr (requires { p2p.comm_hash; }) begin.comm_hash = p2p.comm_hash;
  if constexpr (requires { p2p.channels; }) begin.channels = p2p.channels;
  if constexpr (requires { p2p.user_tag; }) {
    // Before version 7 a send and a receive that share a kernel are reported by one of them.
    begin.kernels = p2p.channels;
    begin.user_tag = p2p.user_tag;
  }
  return begin;
}

template <typename Call>
CallBegin any_call_of(const Call& call, int rank) {
  CallBegin begin;
  if constexpr (std::is_same_v<decltype(call.function), const uint8_t> ||
                std::is_same_v<decltype(call.function), uint8_t>) {
    begin = call_of(call);
  } else if constexpr (requires { call.peer; }) {
    begin = call_of_p2p(call);
  } else {
    begin = call_of_coll(call);
  }
  begin.rank = rank;
  return begin;
}

// ----------------------------------------------------------------------- start of an event

// Kinds that only newer versions have. Anything unknown is ignored.
template <typename Descriptor>
Handle start_newer(Context& context, const Descriptor& event) {
  const uint64_t type = event.type;
  if constexpr (requires { event.kernel_channel; }) {
    if (type == profiler::kKernelChannel) {
      KernelBegin begin{event.kernel_channel.channel, 0};
      if constexpr (requires { event.kernel_channel.timer_ns; }) {
        begin.timer_ns = event.kernel_channel.timer_ns;
      }
      return context.begin_kernel(Handle::of(event.parent), begin);
    }
    if (type == profiler::kNetPlugin) {
      return context.begin_transfer(Handle::of(event.parent), event.net_plugin.id,
                                    event.net_plugin.data);
    }
  }
  if constexpr (requires { event.group_api; }) {
    if (type == profiler::kGroupApi) return context.begin_host(HostTask::kGroupCall, 0);
    if (type == profiler::kCollApi) return context.begin_host(HostTask::kCollectiveCall, 0);
    if (type == profiler::kP2pApi) return context.begin_host(HostTask::kPointToPointCall, 0);
    if (type == profiler::kKernelLaunch) return context.begin_host(HostTask::kKernelLaunch, 0);
  }
  if constexpr (requires { event.ce_coll; }) {
    if (type == profiler::kCeColl) {
      return context.begin_call(any_call_of(event.ce_coll, event.rank));
    }
    if (type == profiler::kCeSync) return context.begin_host(HostTask::kCopySync, 0);
    if (type == profiler::kCeBatch) {
      return context.begin_host(HostTask::kCopyBatch, event.ce_batch.total_bytes);
    }
  }
  if constexpr (requires { event.kernel_phase; }) {
    if (type == profiler::kKernelPhase) {
      return context.begin_phase(
          Handle::of(event.parent),
          {event.kernel_phase.channel, event.kernel_phase.phase, event.kernel_phase.timer_ns});
    }
  }
  return {.kind = HandleKind::kIgnored};
}

template <typename Descriptor>
Handle start(Context& context, const Descriptor& event) {
  switch (static_cast<uint64_t>(event.type)) {
    case profiler::kGroup:  // NCCL reports calls only where this has a handle
      return context.begin_host(HostTask::kPlan, 0);
    case profiler::kColl:
      return context.begin_call(any_call_of(event.coll, event.rank));
    case profiler::kP2p:
      return context.begin_call(any_call_of(event.p2p, event.rank));
    case profiler::kProxyOp:
      return context.begin_op(
          Handle::of(event.parent),
          {event.proxy_op.pid != process_profiler().pid(), event.rank, event.proxy_op.peer,
           event.proxy_op.channel, event.proxy_op.is_send != 0});
    case profiler::kProxyStep:
      return context.begin_step(Handle::of(event.parent), event.proxy_step.step);
    default:
      return start_newer(context, event);
  }
}

// A step's context is that of its op, which another process's pointer may have chosen.
template <typename Descriptor>
Status start_event(void* pointer, void** event, Descriptor* descriptor) {
  if (event == nullptr || descriptor == nullptr) return kSuccess;
  *event = nullptr;
  ProcessProfiler& profiler = process_profiler();
  const Handle parent = Handle::of(descriptor->parent);
  const bool by_parent = parent.kind == HandleKind::kOp || parent.kind == HandleKind::kStep;
  Context* const context = by_parent ? profiler.context_of(parent) : profiler.context_of(pointer);
  if (context == nullptr || !context->is_open()) return kSuccess;
  *event = start(*context, *descriptor).pointer();
  return kSuccess;
}

// --------------------------------------------------------------------- states of an event

template <typename Arguments>
StateFacts facts_of(int state, const Arguments* arguments) {
  StateFacts facts;
  if (arguments == nullptr) return facts;
  if constexpr (requires { arguments->step_bytes; }) {
    const bool step = (state >= profiler::kStepSendGpuWait && state <= profiler::kStepRecvGpuWait);
    if (step) facts.step_bytes = arguments->step_bytes;
    if (state == profiler::kKernelChannelStop || state == profiler::kKernelPhaseStop) {
      facts.timer_ns = arguments->stop_timer_ns;
    }
    if (state == profiler::kNetPluginUpdate) facts.net_data = arguments->net_data;
  } else {
    const bool moved = state == profiler::kOpSendTransmitted || state == profiler::kOpSendDone ||
                       state == profiler::kOpRecvReceived;
    if (moved) facts.op_bytes = arguments->proxy_op.bytes;
  }
  return facts;
}

template <typename Arguments>
Status record_event_state(void* event, profiler::State state, Arguments* arguments) {
  const Handle handle = Handle::of(event);
  if (handle.kind <= HandleKind::kIgnored) return kSuccess;
  Context* const context = process_profiler().context_of(handle);
  if (context != nullptr) context->note_state(handle, state, facts_of(state, arguments));
  return kSuccess;
}

template <typename Table, auto kInit, typename Descriptor, typename Arguments>
constexpr Table table() {
  return {"heddle", kInit, &start_event<Descriptor>, &stop_event, &record_event_state<Arguments>,
          &finalize};
}

}  // namespace

const profiler_v1::Profiler kProfilerV1 =
    table<profiler_v1::Profiler, &init_unnamed<1>, profiler_v1::Descriptor,
          profiler_v1::StateArguments>();
const profiler_v2::Profiler kProfilerV2 =
    table<profiler_v2::Profiler, &init_unnamed<2>, profiler_v2::Descriptor,
          profiler_v2::StateArguments>();
const profiler_v3::Profiler kProfilerV3 =
    table<profiler_v3::Profiler, &init_unnamed<3>, profiler_v3::Descriptor,
          profiler_v3::StateArguments>();
const profiler_v4::Profiler kProfilerV4 =
    table<profiler_v4::Profiler, &init_v4, profiler_v4::Descriptor, profiler_v4::StateArguments>();
const profiler_v5::Profiler kProfilerV5 =
    table<profiler_v5::Profiler, &init<5>, profiler_v5::Descriptor, profiler_v5::StateArguments>();
const profiler_v6::Profiler kProfilerV6 =
    table<profiler_v6::Profiler, &init<6>, profiler_v6::Descriptor, profiler_v6::StateArguments>();
const profiler_v7::Profiler kProfilerV7 =
    table<profiler_v7::Profiler, &init<7>, profiler_v7::Descriptor, profiler_v7::StateArguments>();

}  // namespace heddle::nccl
