// Execution: see execution.h. Here is the order in which steps go on; execution_messages.cc posts
// them and looks at what arrived.
#include "collectives/execution/execution.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "collectives/params.h"
#include "collectives/reduction.h"

namespace heddle::collectives {

Execution::~Execution() {
  for (Active& active : active_) give_back(active);
}

Result<void> Execution::begin(const Call& call, const Shape& shape, uint64_t number,
                              engine::Channel channel) {
  CHECK(board_.empty());
  call_ = &call;
  schedule_ = Schedule(shape);
  number_ = number;
  channel_ = channel;
  next_ = 0;
  failed_ = false;
  element_bytes_ = shape.element_bytes;
  divisor_ = call.op == ReduceOp::kAverage ? shape.size : 1;
  streams_seen_.assign(shape.size, 0);
  Result<void> begun = memory_.begin(call, shape, schedule_.scratch_bytes());
  copies_ = memory_.buffer_bytes() <= params::kCopiedCallBytes;
  return begun;
}

Execution::Progress Execution::advance() {
  const Progress progress = go_on();
  batch_.reset();
  return progress;
}

Execution::Progress Execution::go_on() {
  if (failed_) return Progress::kFailed;
  budget_ = params::kCombineBudget;
  bool moved = true;
  bool ever = false;
  while (moved && budget_ > 0) {
    moved = admit();
    for (uint32_t rest = board_.live(); rest != 0; rest &= rest - 1) {
      moved |= step_on(static_cast<uint32_t>(std::countr_zero(rest)));
      if (failed_) return Progress::kFailed;
    }
    ever |= moved;
  }
  if (next_ == schedule_.steps() && board_.empty()) {
    memory_.end();
    return Progress::kDone;
  }
  return ever ? Progress::kMoved : Progress::kWaiting;
}

bool Execution::posted() const {
  if (next_ != schedule_.steps()) return false;
  for (uint32_t rest = board_.live(); rest != 0; rest &= rest - 1) {
    const Active& active = active_[static_cast<size_t>(std::countr_zero(rest))];
    if (active.step.kind == StepKind::kCopy || !active.message.posted) return false;
  }
  return true;
}

std::vector<uint32_t> Execution::waits_for() const {
  std::vector<uint32_t> ranks;
  for (uint32_t rest = board_.live(); rest != 0; rest &= rest - 1) {
    const Step& step = active_[static_cast<size_t>(std::countr_zero(rest))].step;
    if (step.kind != StepKind::kCopy) ranks.push_back(step.peer);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// --- steps ---

bool Execution::admit() {
  bool moved = false;
  while (next_ < schedule_.steps() && !board_.full()) {
    const Step step = schedule_.at(next_);
    const bool copies = step.kind == StepKind::kCopy;
    if (copies && (step.bytes == 0 || address(step.source) == address(step.destination))) {
      ++next_;
      continue;
    }
    const bool sends = step.kind == StepKind::kSend;
    const bool reduces = step.kind == StepKind::kReceiveReduce;
    const bool in_chunk = reduces && step.bytes > kSmallBytes;
    if (in_chunk && chunks_held_ == params::kChunkSlots) break;
    Active active;
    active.step = step;
    if (!copies && !prepare(active)) break;
    Scoreboard::Demand demand;
    const auto range = [&](const Place& place) {
      const auto begin = reinterpret_cast<uint64_t>(address(place));
      return Range{begin, begin + step.bytes};
    };
    if (sends || reduces || copies) demand.read = range(step.source);
    if (!sends) demand.written = range(step.destination);
    demand.answers = step.answers;
    if (!copies) {
      demand.stream = 1 + (uint64_t{step.peer} << 8 | step.channel << 1 | (sends ? 0 : 1));
    }
    active_[board_.admit(demand)] = active;
    ++next_;
    moved = true;
  }
  return moved;
}

// The message of a step; false: all has failed.
bool Execution::prepare(Active& active) {
  const Step& step = active.step;
  Message& message = active.message;
  const bool reduces = step.kind == StepKind::kReceiveReduce;
  message.channel = static_cast<engine::Channel>(channel_ + step.channel);
  message.sends = step.kind == StepKind::kSend;
  message.signs = note_first(step);
  message.small = message.signs && step.bytes <= kSmallBytes;
  message.copied = message.sends && !message.signs && copies_ && step.bytes <= kSmallBytes;
  // Copies request no acknowledgement, so a later copy could not cover this one.
  message.unasked = step.unasked && !copies_;
  message.stored = !message.sends && (message.small || reduces);
  message.bytes = step.bytes;
  message.memory = address(place_of(step));
  if (message.sends) message.signature = signature_with(step.peer, true);
  if (!reduces || message.small) return true;
  Result<Slot> chunk = resources_.chunks.lend();
  if (!chunk) {
    fail_with(chunk.error(), resources_.members.rank);
    return false;
  }
  message.chunk = *chunk;
  ++chunks_held_;
  return true;
}

bool Execution::note_first(const Step& step) {
  const auto bit =
      static_cast<uint8_t>(1U << (2 * step.channel + (step.kind == StepKind::kSend ? 0 : 1)));
  uint8_t& seen = streams_seen_[step.peer];
  const bool first = (seen & bit) == 0;
  seen |= bit;
  return first;
}

bool Execution::step_on(uint32_t slot) {
  const Active& active = active_[slot];
  if (active.step.kind == StepKind::kCopy) return copy(slot);
  return active.link == nullptr ? post(slot) : look(slot);
}

// What may be copied or reduced between two turns, in whole elements.
uint64_t Execution::within_budget(uint64_t bytes) {
  const uint64_t most = std::max<uint64_t>(budget_ / element_bytes_, 1) * element_bytes_;
  bytes = std::min(bytes, most);
  budget_ -= std::min(budget_, bytes);
  return bytes;
}

bool Execution::copy(uint32_t slot) {
  Active& active = active_[slot];
  const Step& step = active.step;
  if (!board_.may_touch(slot) || budget_ == 0) return false;
  const uint64_t bytes = within_budget(step.bytes - active.done_bytes);
  batch_.reset();
  std::memmove(address(step.destination) + active.done_bytes,
               address(step.source) + active.done_bytes, bytes);
  active.done_bytes += bytes;
  if (active.done_bytes == step.bytes) finish(slot);
  return true;
}

// Combines a piece of what a link received, or what of it may be between two turns.
bool Execution::take_piece(uint32_t slot, const Link::Sight& sight) {
  Active& active = active_[slot];
  const Step& step = active.step;
  if (budget_ == 0) return false;
  if (!board_.may_touch(slot)) return active.link->set_aside(active.message, budget_);
  const uint64_t bytes = within_budget(sight.piece_bytes);
  batch_.reset();
  std::byte* const to = address(step.destination) + active.done_bytes;
  if (step.kind == StepKind::kReceiveReduce) {
    const std::byte* const own = address(step.source) + active.done_bytes;
    const uint64_t elements = bytes / element_bytes_;
    const Operands from =
        step.received_first ? Operands{sight.piece, own} : Operands{own, sight.piece};
    reduce(call_->type, call_->op, to, from, elements);
    if (step.completes && divisor_ > 1) scale(call_->type, to, elements, divisor_);
  } else if (bytes > 0) {
    std::memmove(to, sight.piece, bytes);
  }
  active.done_bytes += bytes;
  active.link->take(active.message, bytes);
  return true;
}

void Execution::finish(uint32_t slot) {
  give_back(active_[slot]);
  still_touched_ &= ~(1U << slot);
  board_.on_done(slot);
  release_untouched();
}

void Execution::give_back(Active& active) {
  resources_.small.give_back(active.message.small_slot);
  if (active.message.chunk.start == nullptr) return;
  resources_.chunks.give_back(active.message.chunk);
  --chunks_held_;
}

void Execution::fail_with(const Error& error, uint32_t rank) {
  failed_ = true;
  failure_ = {error.code, rank, error.message()};
}

}  // namespace heddle::collectives
