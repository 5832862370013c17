// The parts of calls: the proxy's operations and transfers, kernels, transfers of heddle's net
// plugin; and work of the host. See context.h.
#include <algorithm>

#include "plugins/nccl/profiler/context.h"
#include "plugins/nccl/profiler/net_events.h"

namespace heddle::nccl {

using events::Direction;
using events::KernelStage;

namespace {

// The object of a handle, where it still has that generation.
template <typename T>
T* find(SlotPool<T>& pool, Handle handle) {
  T* const found = pool.at(handle.place);
  if (found == nullptr) return nullptr;
  return found->generation.load(std::memory_order_acquire) == handle.generation ? found : nullptr;
}

KernelStage stage_of(uint8_t phase) {
  return phase < static_cast<uint8_t>(KernelStage::kOther) ? static_cast<KernelStage>(phase)
                                                           : KernelStage::kOther;
}

// What a transfer waits for from a state on.
Waiting waiting_of(int state) {
  switch (state) {
    case profiler::kStepSendGpuWait:
    case profiler::kStepRecvGpuWait:
      return Waiting::kGpu;
    case profiler::kStepSendPeerWait:
    case profiler::kStepRecvWait:
      return Waiting::kPeer;
    case profiler::kStepSendWait:
    case profiler::kStepRecvFlushWait:
      return Waiting::kNetwork;
    default:
      return Waiting::kNothing;
  }
}

Nanos waited_for(const std::array<Nanos, kWaitings>& waited, Waiting what) {
  return waited.at(static_cast<size_t>(what));
}

}  // namespace

Op* Context::op_of(Handle handle) { return find(ops_, handle); }
Span* Context::span_of(Handle handle) { return find(spans_, handle); }

Handle Context::begin_op(Handle call, const OpBegin& begin) {
  const uint32_t place = ops_.take();
  if (place == SlotPool<Op>::kNone) {
    ++dropped_.ops;
    return {};
  }
  Op& op = ops_[place];
  op.call = begin.is_foreign ? CallReference() : hold(call);
  op.rank = static_cast<uint32_t>(std::max(begin.rank, 0));
  op.peer = static_cast<uint32_t>(std::max(begin.peer, 0));
  op.channel = begin.channel;
  op.direction = begin.is_send ? Direction::kSent : Direction::kReceived;
  op.steps = 0;
  op.bytes = op.retransmitted_bytes = 0;
  op.waited = {};
  op.step = {};
  op.began = session_.clock();
  op.last_generation = next_generation(op.last_generation);
  op.generation.store(op.last_generation, std::memory_order_release);
  return {HandleKind::kOp, 0, place_, static_cast<uint16_t>(place), op.last_generation};
}

Handle Context::begin_step(Handle handle, int number) {
  Op* const op = handle.kind == HandleKind::kOp ? op_of(handle) : nullptr;
  if (op == nullptr) {
    ++dropped_.steps;
    return {};
  }
  const uint32_t place = static_cast<uint32_t>(number) % Op::kSteps;
  Step& step = op->step.at(place);
  step = {};
  step.live = true;
  step.number = static_cast<uint32_t>(number);
  step.began = step.since = session_.clock();
  handle.kind = HandleKind::kStep;
  handle.step = static_cast<uint8_t>(place);
  return handle;
}

// A state that is reported again, as NCCL does at every attempt to send, changes nothing. Only the
// states of the network have the step's own size: with others NCCL reports its op's latest.
void Context::wait_for(Step& step, Waiting what, uint64_t bytes) {
  if (!step.live) return;
  if (what == Waiting::kNetwork) step.bytes = bytes;
  if (step.waiting == what) return;
  const Nanos now = session_.clock();
  step.waited.at(static_cast<size_t>(step.waiting)) += now - step.since;
  step.waiting = what;
  step.since = now;
}

void Context::end_step(Op& op, Step& step) {
  if (!step.live) return;
  step.live = false;
  const Nanos end = session_.clock();
  step.waited.at(static_cast<size_t>(step.waiting)) += end - step.since;
  for (size_t i = 0; i < kWaitings; ++i) op.waited.at(i) += step.waited.at(i);
  ++op.steps;
  op.bytes += step.bytes;
  if (session_.level != ProfileLevel::kAll) return;
  write([&](Nanos now) {
    return events::ProxyStep{now,
                             hash(),
                             op.call.number,
                             op.peer,
                             op.channel,
                             op.direction,
                             step.number,
                             static_cast<uint32_t>(std::min<uint64_t>(step.bytes, UINT32_MAX)),
                             end - step.began,
                             waited_for(step.waited, Waiting::kGpu),
                             waited_for(step.waited, Waiting::kPeer),
                             waited_for(step.waited, Waiting::kNetwork)};
  });
}

void Context::end_op(Handle handle) {
  Op* const op = op_of(handle);
  if (op == nullptr) return;
  for (Step& step : op->step) end_step(*op, step);
  if (session_.level != ProfileLevel::kCalls && hash() != 0) {
    write([&](Nanos now) {
      return events::ProxyOp{now,
                             hash(),
                             op->call.number,
                             op->rank,
                             op->peer,
                             op->channel,
                             op->direction,
                             op->steps,
                             op->bytes,
                             op->retransmitted_bytes,
                             now - op->began,
                             waited_for(op->waited, Waiting::kGpu),
                             waited_for(op->waited, Waiting::kPeer),
                             waited_for(op->waited, Waiting::kNetwork)};
    });
  }
  const CallReference call = op->call;
  uint32_t generation = handle.generation;  // close() may free it, too
  if (!op->generation.compare_exchange_strong(generation, 0)) return;
  ops_.give_back(handle.place);
  release_part(call, false);
}

Span* Context::take_span(SpanKind kind, Handle& handle) {
  const uint32_t place = spans_.take();
  if (place == SlotPool<Span>::kNone) {
    ++dropped_.others;
    return nullptr;
  }
  Span& span = spans_[place];
  span.kind = kind;
  span.call = {};
  span.channel = 0;
  span.gpu_began_ns = span.gpu_ended_ns = 0;
  span.op = {};
  span.bytes = span.retransmitted_bytes = 0;
  span.began = session_.clock();
  span.last_generation = next_generation(span.last_generation);
  handle = {HandleKind::kSpan, 0, place_, static_cast<uint16_t>(place), span.last_generation};
  return &span;
}

Handle Context::begin_kernel(Handle call, const KernelBegin& begin) {
  Handle handle;
  Span* const span = take_span(SpanKind::kKernel, handle);
  if (span == nullptr) return {};
  span->call = hold(call);
  span->channel = begin.channel;
  span->gpu_began_ns = begin.timer_ns;
  span->generation.store(handle.generation, std::memory_order_release);
  return handle;
}

Handle Context::begin_phase(Handle kernel, const PhaseBegin& begin) {
  if (session_.level != ProfileLevel::kAll) return {.kind = HandleKind::kIgnored};
  Span* const parent = kernel.kind == HandleKind::kSpan ? span_of(kernel) : nullptr;
  Handle handle;
  Span* const span = take_span(SpanKind::kPhase, handle);
  if (span == nullptr) return {};
  // The kernel ends after its phases, so its reference to the call is enough.
  span->call = {0, 0, parent == nullptr ? 0 : parent->call.number};
  span->channel = begin.channel;
  span->stage = stage_of(begin.phase);
  span->gpu_began_ns = begin.timer_ns;
  span->generation.store(handle.generation, std::memory_order_release);
  return handle;
}

Handle Context::begin_host(events::HostTask task, uint64_t bytes) {
  if (session_.level != ProfileLevel::kAll) return {.kind = HandleKind::kIgnored};
  Handle handle;
  Span* const span = take_span(SpanKind::kHost, handle);
  if (span == nullptr) return {};
  span->task = task;
  span->bytes = bytes;
  span->generation.store(handle.generation, std::memory_order_release);
  return handle;
}

Handle Context::begin_transfer(Handle step, int64_t plugin, const void* data) {
  if (plugin != kNetEventsId || data == nullptr) return {};
  if (session_.level == ProfileLevel::kCalls || step.kind != HandleKind::kStep) return {};
  Op* const op = op_of(step);
  if (op == nullptr) return {};
  Handle handle;
  Span* const span = take_span(SpanKind::kTransfer, handle);
  if (span == nullptr) return {};
  const auto& transfer = *static_cast<const NetTransfer*>(data);
  span->op = step;
  span->call.number = op->call.number;
  span->peer = op->peer;
  span->channel = op->channel;
  span->direction = op->direction;
  span->connection = transfer.connection;
  span->path = transfer.path;
  span->bytes = transfer.bytes;
  span->retransmitted_bytes = transfer.retransmitted_bytes;
  span->delay_ns = transfer.delay_ns;
  span->generation.store(handle.generation, std::memory_order_release);
  return handle;
}

void Context::note_state(Handle handle, int state, const StateFacts& facts) {
  if (!is_open()) return;
  if (handle.kind == HandleKind::kStep) {
    Op* const op = op_of(handle);
    const Waiting what = waiting_of(state);
    if (op == nullptr || what == Waiting::kNothing) return;
    wait_for(op->step[handle.step % Op::kSteps], what, facts.step_bytes);
  } else if (handle.kind == HandleKind::kOp) {
    Op* const op = op_of(handle);
    if (op != nullptr) op->bytes = std::max(op->bytes, facts.op_bytes);
  } else if (handle.kind == HandleKind::kSpan) {
    Span* const span = span_of(handle);
    if (span == nullptr) return;
    if (state == profiler::kKernelChannelStop || state == profiler::kKernelPhaseStop) {
      span->gpu_ended_ns = facts.timer_ns;
    } else if (state == profiler::kNetPluginUpdate && facts.net_data != nullptr &&
               span->kind == SpanKind::kTransfer) {
      const auto& transfer = *static_cast<const NetTransfer*>(facts.net_data);
      span->path = transfer.path;
      span->bytes = transfer.bytes;
      span->retransmitted_bytes = transfer.retransmitted_bytes;
      span->delay_ns = transfer.delay_ns;
    }
  }
}

void Context::end_span(Handle handle) {
  Span* const span = span_of(handle);
  if (span == nullptr) return;
  if (span->kind == SpanKind::kTransfer) {
    Op* const op = op_of(span->op);
    if (op != nullptr) op->retransmitted_bytes += span->retransmitted_bytes;
  }
  if (session_.level == ProfileLevel::kAll && hash() != 0) write_span(*span);
  const CallReference call = span->call;
  const bool kernel = span->kind == SpanKind::kKernel;
  uint32_t generation = handle.generation;  // close() may free it, too
  if (!span->generation.compare_exchange_strong(generation, 0)) return;
  spans_.give_back(handle.place);
  release_part(call, kernel);
}

void Context::write_span(const Span& span) {
  const Nanos gpu_took = span.gpu_began_ns != 0 && span.gpu_ended_ns > span.gpu_began_ns
                             ? nanos(static_cast<int64_t>(span.gpu_ended_ns - span.gpu_began_ns))
                             : Nanos{};
  const uint32_t call = span.call.number;
  if (span.kind == SpanKind::kKernel) {
    write([&](Nanos now) {
      return events::KernelChannel{
          now, hash(), call, span.channel, now - span.began, span.gpu_began_ns, gpu_took};
    });
  } else if (span.kind == SpanKind::kPhase) {
    write([&](Nanos now) {
      return events::KernelPhase{now,     hash(), call, span.channel, span.stage, span.gpu_began_ns,
                                 gpu_took};
    });
  } else if (span.kind == SpanKind::kHost) {
    write([&](Nanos now) {
      return events::HostWork{now, hash(), span.task, span.bytes, now - span.began};
    });
  } else {
    write([&](Nanos now) {
      return events::NetTransfer{now,
                                 hash(),
                                 call,
                                 span.peer,
                                 span.channel,
                                 span.direction,
                                 span.connection,
                                 span.path,
                                 span.bytes,
                                 span.retransmitted_bytes,
                                 nanos(span.delay_ns),
                                 now - span.began};
    });
  }
}

}  // namespace heddle::nccl
