// Communicators and calls: see context.h. The proxy's operations, kernels and work of the host are
// in context_parts.cc.
#include "plugins/nccl/profiler/context.h"

#include <algorithm>

#include "plugins/nccl/params.h"
#include "plugins/nccl/profiler/names.h"

namespace heddle::nccl {

using events::Operation;

namespace {

// A communicator whose number NCCL does not report gets one of its own.
constexpr uint64_t kUnnamed = uint64_t{1} << 63;

Handle handle_of(HandleKind kind, uint16_t context, uint32_t place, uint32_t generation) {
  return {kind, 0, context, static_cast<uint16_t>(place), generation};
}

}  // namespace

Context::Context(uint16_t place, const PoolSizes& sizes)
    : place_(place), calls_(sizes.calls), ops_(sizes.ops), spans_(sizes.spans) {}

void Context::open(const Session& session, const CommunicatorFacts& facts) {
  session_ = session;
  ranks_ = static_cast<uint32_t>(std::max(facts.ranks, 0));
  sends_ = std::make_unique<std::atomic<uint32_t>[]>(ranks_);
  receives_ = std::make_unique<std::atomic<uint32_t>[]>(ranks_);
  dropped_.calls = dropped_.ops = dropped_.steps = dropped_.others = dropped_.writes = 0;
  hash_ = 0;
  open_.store(true, std::memory_order_release);
  if (facts.hash != 0) identify(facts.hash, facts.rank);
}

// Calls whose last part NCCL never reported ended with the last that it did report. What is still
// live did not end.
void Context::close() {
  open_.store(false, std::memory_order_release);
  uint64_t unended = 0;
  for (uint32_t place = 0; place < calls_.used(); ++place) {
    Call& call = calls_[place];
    if (call.state.retire()) {
      end_call(place, true);
    } else if (call.state.abandon()) {
      ++unended;
      calls_.give_back(place);
    }
  }
  for (uint32_t place = 0; place < ops_.used(); ++place) {
    if (ops_[place].generation.exchange(0, std::memory_order_acq_rel) == 0) continue;
    ++unended;
    ops_.give_back(place);
  }
  for (uint32_t place = 0; place < spans_.used(); ++place) {
    if (spans_[place].generation.exchange(0, std::memory_order_acq_rel) == 0) continue;
    spans_.give_back(place);
  }
  const uint64_t communicator = hash();
  if (communicator == 0) return;  // nothing was called on it
  const uint64_t calls = dropped_.calls;
  const uint64_t ops = dropped_.ops;
  const uint64_t steps = dropped_.steps;
  const uint64_t others = dropped_.others;
  const uint64_t writes = dropped_.writes;
  if (calls + ops + steps + others + writes + unended > 0) {
    write([&](Nanos now) {
      return events::ProfileDropped{now, communicator, calls, ops, steps, others, writes, unended};
    });
  }
  write([&](Nanos now) { return events::CommunicatorEnded{now, communicator, false}; });
  hash_ = 0;
}

void Context::identify(uint64_t hash, int rank) {
  const uint64_t name = hash == 0 ? kUnnamed | (place_ + 1u) : hash;
  uint64_t none = 0;
  if (!hash_.compare_exchange_strong(none, name, std::memory_order_acq_rel)) return;
  write([&](Nanos now) {
    return events::CommunicatorMade{now, name, static_cast<uint32_t>(std::max(rank, 0)), ranks_};
  });
}

uint32_t Context::take_call() {
  const uint32_t place = calls_.take();
  if (place != SlotPool<Call>::kNone || calls_.capacity() == 0) return place;
  for (uint32_t i = 0; i < params::profiler::kRetireTries; ++i) {
    const uint32_t old = retired_next_.fetch_add(1, std::memory_order_relaxed) % calls_.capacity();
    if (old >= calls_.used() || !calls_[old].state.retire()) continue;
    end_call(old, true);
    return calls_.take();
  }
  return SlotPool<Call>::kNone;
}

Handle Context::begin_call(const CallBegin& begin) {
  const std::optional<Operation> operation = operation_of(begin.function);
  if (!operation) return {.kind = HandleKind::kIgnored};
  if (hash() == 0) identify(begin.comm_hash, begin.rank);
  const uint32_t place = take_call();
  if (place == SlotPool<Call>::kNone) {
    ++dropped_.calls;
    return {};
  }
  Call& call = calls_[place];
  call.number = session_.calls->fetch_add(1, std::memory_order_relaxed) + 1;
  call.latest_ns.store(0, std::memory_order_relaxed);
  write_call(begin, *operation, call.number);
  const uint32_t generation = call.state.begin(begin.kernels, begin.is_copy);
  return handle_of(HandleKind::kCall, place_, place, generation);
}

void Context::write_call(const CallBegin& begin, Operation operation, uint32_t number) {
  const uint64_t communicator = hash();
  const bool message = operation == Operation::kSend || operation == Operation::kRecv;
  auto algorithm = message ? events::Algorithm::kLinear : algorithm_of(begin.algorithm);
  if (begin.is_symmetric) algorithm = events::Algorithm::kSymmetric;
  if (begin.is_copy) algorithm = events::Algorithm::kCopyEngine;
  const uint64_t sequence = number_of(begin, operation);
  write([&](Nanos now) {
    return events::CallMade{now,
                            communicator,
                            number,
                            sequence,
                            operation,
                            element_type_of(begin.data_type),
                            begin.count,
                            static_cast<uint32_t>(std::max(begin.root, 0)),
                            0};
  });
  write([&](Nanos now) {
    return events::CallStarted{now, communicator,   number, operation, algorithm,
                               0,   begin.channels, 0,      0,         protocol_of(begin.protocol)};
  });
  if (begin.user_tag == 0) return;
  write([&](Nanos now) { return events::CallTagged{now, communicator, number, begin.user_tag}; });
}

// NCCL numbers collectives; sends and receives are numbered here, by peer.
uint64_t Context::number_of(const CallBegin& begin, Operation operation) {
  if (operation != Operation::kSend && operation != Operation::kRecv) return begin.sequence;
  const auto peer = static_cast<uint32_t>(begin.root);
  if (begin.root < 0 || peer >= ranks_) return 0;
  auto& numbers = operation == Operation::kSend ? sends_ : receives_;
  return numbers[peer].fetch_add(1, std::memory_order_relaxed);
}

// Writes the end of a call that the caller alone owns, at the time of its last part, and frees it.
void Context::end_call(uint32_t place, bool ok) {
  const Call& call = calls_[place];
  const Nanos latest = {call.latest_ns.load(std::memory_order_acquire)};
  const uint32_t number = call.number;
  write([&](Nanos now) {
    return events::CallEnded{latest == Nanos{} ? now : latest, hash(), number, ok};
  });
  calls_.give_back(place);
}

// Registers a part of the call; a call that has ended has no further parts.
CallReference Context::hold(Handle handle) {
  if (handle.kind != HandleKind::kCall || handle.context != place_) return {};
  Call* const call = calls_.at(handle.place);
  if (call == nullptr) return {};
  if (call->state.begin_part(handle.generation) == CallState::Change::kStale) return {};
  return {handle.place, handle.generation, call->number};
}

void Context::release_part(const CallReference& reference, bool kernel) {
  if (reference.generation == 0) return;
  Call& call = calls_[reference.place];
  const int64_t now = session_.clock().count;
  int64_t latest = call.latest_ns.load(std::memory_order_relaxed);
  while (latest < now && !call.latest_ns.compare_exchange_weak(latest, now)) {
  }
  if (call.state.end_part(reference.generation, kernel) == CallState::Change::kEnds) {
    end_call(reference.place, true);
  }
}

void Context::end(Handle handle) {
  if (!is_open()) return;
  if (handle.kind == HandleKind::kStep) {
    Op* const op = op_of(handle);
    if (op != nullptr) end_step(*op, op->step[handle.step % Op::kSteps]);
  } else if (handle.kind == HandleKind::kOp) {
    end_op(handle);
  } else if (handle.kind == HandleKind::kSpan) {
    end_span(handle);
  } else if (handle.kind == HandleKind::kCall) {
    Call* const call = calls_.at(handle.place);
    if (call == nullptr) return;
    int64_t none = 0;
    call->latest_ns.compare_exchange_strong(none, session_.clock().count);
    if (call->state.stop_host(handle.generation) == CallState::Change::kEnds) {
      end_call(handle.place, true);
    }
  }
}

}  // namespace heddle::nccl
