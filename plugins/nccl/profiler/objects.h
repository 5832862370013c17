// What a communicator's profiler keeps of NCCL's events between their beginning and their end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/nanos.h"
#include "events/events.h"
#include "nccl/profiler_types.h"
#include "plugins/nccl/profiler/call_state.h"
#include "plugins/nccl/profiler/handle.h"

namespace heddle::nccl {

// A collective, send or receive.
struct Call {
  CallState state;
  std::atomic<int64_t> latest_ns{0};  // its last part's end so far, or NCCL's own
  uint32_t number = 0;                // as in call_made
};

// The call that a part belongs to; number 0: none that is known.
struct CallReference {
  uint16_t place = 0;
  uint32_t generation = 0;
  uint32_t number = 0;
};

// What a transfer waits for.
enum class Waiting : uint8_t { kNothing, kGpu, kPeer, kNetwork };
inline constexpr size_t kWaitings = 4;

// A transfer of the proxy. Only the proxy's thread touches it.
struct Step {
  bool live = false;
  Waiting waiting = Waiting::kNothing;
  uint32_t number = 0;
  uint64_t bytes = 0;
  Nanos began;
  Nanos since;  // it waits for `waiting`
  std::array<Nanos, kWaitings> waited{};
};

// The proxy's part of a call with one peer on one channel. Its steps lie in it: NCCL has at most
// eight of an op at a time.
struct Op {
  static constexpr uint32_t kSteps = 8;

  std::atomic<uint32_t> generation{0};  // 0 between its uses
  uint32_t last_generation = 0;
  CallReference call;
  uint32_t rank = 0;
  uint32_t peer = 0;
  uint16_t channel = 0;
  events::Direction direction = events::Direction::kSent;
  uint32_t steps = 0;
  uint64_t bytes = 0;
  uint64_t retransmitted_bytes = 0;
  Nanos began;
  std::array<Nanos, kWaitings> waited{};
  std::array<Step, kSteps> step{};
};

// Anything else with a beginning and an end.
enum class SpanKind : uint8_t { kKernel, kPhase, kHost, kTransfer };

struct Span {
  std::atomic<uint32_t> generation{0};  // 0 between its uses
  uint32_t last_generation = 0;
  SpanKind kind = SpanKind::kHost;
  CallReference call;
  uint16_t channel = 0;
  Nanos began;
  uint64_t gpu_began_ns = 0;
  uint64_t gpu_ended_ns = 0;
  events::HostTask task = events::HostTask::kGroupCall;
  events::KernelStage stage = events::KernelStage::kOther;
  Handle op;          // of a transfer
  uint32_t peer = 0;  // of a transfer, as what follows
  events::Direction direction = events::Direction::kSent;
  uint32_t connection = 0;
  uint16_t path = 0;
  uint64_t bytes = 0;  // of a batch of copies, too
  uint64_t retransmitted_bytes = 0;
  int64_t delay_ns = 0;
};

// The next generation of an object: 24 bits, never 0.
inline uint32_t next_generation(uint32_t last) { return last >= 0xffffff ? 1 : last + 1; }

}  // namespace heddle::nccl
