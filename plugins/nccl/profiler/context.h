// Context: the profiler of one communicator. It turns NCCL's events into heddle's and writes them
// by the session's writers. Any thread calls it; it takes no lock, allocates nothing and makes no
// system call. Objects come from fixed pools; what finds none is counted and not recorded.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "events/events.h"
#include "plugins/nccl/profiler/begins.h"
#include "plugins/nccl/profiler/event_writers.h"
#include "plugins/nccl/profiler/handle.h"
#include "plugins/nccl/profiler/objects.h"
#include "plugins/nccl/profiler/slot_pool.h"

namespace heddle::nccl {

// What all communicators of a process share.
struct Session {
  EventWriters* writers = nullptr;
  Nanos (*clock)() = nullptr;
  ProfileLevel level = ProfileLevel::kCalls;
  std::atomic<uint32_t>* calls = nullptr;  // numbers of calls, of all communicators
};

// Objects of each kind that a communicator may have at a time.
struct PoolSizes {
  uint32_t calls = 4096;
  uint32_t ops = 2048;
  uint32_t spans = 4096;
};

class Context {
 public:
  Context(uint16_t place, const PoolSizes& sizes);

  // A communicator begins to use it, or ends to. No event may be started meanwhile; late ends and
  // states of earlier events are ignored.
  void open(const Session& session, const CommunicatorFacts& facts);
  void close();
  bool is_open() const { return open_.load(std::memory_order_acquire); }
  uint64_t hash() const { return hash_.load(std::memory_order_acquire); }

  // Each returns the handle for NCCL; null where no object is free.
  Handle begin_call(const CallBegin& begin);
  Handle begin_op(Handle call, const OpBegin& begin);
  Handle begin_step(Handle op, int number);
  Handle begin_kernel(Handle call, const KernelBegin& begin);
  Handle begin_phase(Handle kernel, const PhaseBegin& begin);
  Handle begin_host(events::HostTask task, uint64_t bytes);
  Handle begin_transfer(Handle step, int64_t plugin, const void* data);

  // For a handle of this context.
  void note_state(Handle handle, int state, const StateFacts& facts);
  void end(Handle handle);

 private:
  struct Dropped {
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> ops{0};
    std::atomic<uint64_t> steps{0};
    std::atomic<uint64_t> others{0};
    std::atomic<uint64_t> writes{0};
  };

  template <typename Make>
  void write(const Make& make) {
    if (!session_.writers->write(make)) ++dropped_.writes;
  }
  void identify(uint64_t hash, int rank);
  uint32_t take_call();
  void write_call(const CallBegin& begin, events::Operation operation, uint32_t number);
  uint64_t number_of(const CallBegin& begin, events::Operation operation);
  void end_call(uint32_t place, bool ok);
  void release_part(const CallReference& call, bool kernel);
  CallReference hold(Handle call);
  Op* op_of(Handle handle);
  Span* span_of(Handle handle);
  Span* take_span(SpanKind kind, Handle& handle);
  void wait_for(Step& step, Waiting what, uint64_t bytes);
  void end_step(Op& op, Step& step);
  void end_op(Handle handle);
  void end_span(Handle handle);
  void write_span(const Span& span);

  const uint16_t place_;
  SlotPool<Call> calls_;
  SlotPool<Op> ops_;
  SlotPool<Span> spans_;
  std::atomic<bool> open_{false};
  Session session_;
  std::atomic<uint64_t> hash_{0};
  uint64_t communicator_ = 0;  // written before hash_ is
  uint32_t ranks_ = 0;
  // Numbers of sends and receives, by peer.
  std::unique_ptr<std::atomic<uint32_t>[]> sends_;
  std::unique_ptr<std::atomic<uint32_t>[]> receives_;
  std::atomic<uint32_t> retired_next_{0};
  Dropped dropped_;
};

}  // namespace heddle::nccl
