// Execution, second part: messages, and the signatures that travel with the first of each stream.
#include <bit>
#include <cstring>

#include "collectives/execution/execution.h"

namespace heddle::collectives {

bool Execution::post(uint32_t slot) {
  Active& active = active_[slot];
  const Step& step = active.step;
  const bool sends = step.kind == StepKind::kSend;
  const bool direct = !active.small && step.kind != StepKind::kReceiveReduce;
  if (!board_.may_post(slot)) return false;
  if ((sends || direct) && !board_.may_touch(slot)) return false;
  const Result<engine::Connection> peer = resources_.mesh.reach(step.peer);
  if (!peer) {
    fail_with(peer.error(), step.peer);
    return false;
  }
  if (*peer == 0) return false;
  const Result<void> posted = sends ? post_send(active, slot, *peer) : post_receive(active, *peer);
  if (!posted) {
    const Failure cause = resources_.mesh.cause(step.peer, posted.error().code);
    fail_with(posted.error(), step.peer);
    if (resources_.mesh.failure()) failure_ = cause;
    return false;
  }
  active.phase = Phase::kPosted;
  board_.on_posted(slot);
  return true;
}

Result<void> Execution::post_send(Active& active, uint32_t slot, engine::Connection to) {
  const Step& step = active.step;
  uint64_t head = 0;
  if (active.signs) {
    Result<Slot> small = resources_.small.lend();
    if (!small) return fail(small.error());
    active.small_slot = *small;
    signature_with(step.peer, true).write(small->start);
    head = Signature::kBytes;
    if (active.small && step.bytes > 0) {
      std::memcpy(small->start + head, address(step.source), step.bytes);
    }
    if (active.small) head += step.bytes;
    Result<engine::Operation> sent =
        resources_.endpoint.send(to, channel_of(step), small->first(head));
    if (!sent) return fail(sent.error());
    active.head = *sent;
  }
  if (active.small) {
    board_.on_touched(slot);
    resources_.departures.take(active.head, active.small_slot);
    return {};
  }
  const Result<transport::Payload> payload = name(step.source, step.bytes);
  if (!payload) return fail(payload.error());
  Result<engine::Operation> sent = resources_.endpoint.send(to, channel_of(step), *payload);
  if (!sent) return fail(sent.error());
  active.body = *sent;
  return {};
}

Result<void> Execution::post_receive(Active& active, engine::Connection from) {
  const Step& step = active.step;
  if (active.signs) {
    Result<Slot> small = resources_.small.lend();
    if (!small) return fail(small.error());
    active.small_slot = *small;
    Result<engine::Operation> received =
        resources_.endpoint.receive(from, channel_of(step), small->place);
    if (!received) return fail(received.error());
    active.head = *received;
  }
  if (active.small) return {};
  const Result<transport::Payload> payload =
      step.kind == StepKind::kReceiveReduce
          ? Result<transport::Payload>(active.chunk.first(step.bytes))
          : name(step.destination, step.bytes);
  if (!payload) return fail(payload.error());
  Result<engine::Operation> received =
      resources_.endpoint.receive(from, channel_of(step), *payload);
  if (!received) return fail(received.error());
  active.body = *received;
  return {};
}

Result<transport::Payload> Execution::name(const Place& place, uint64_t bytes) {
  if (bytes == 0) return transport::Payload{};
  if (place.buffer == Buffer::kScratch) return scratch_memory_.slice(place.offset, bytes);
  const bool reads = place.buffer == Buffer::kInput;
  std::optional<transport::Payload>& pinned = reads ? input_ : output_;
  const void* const start = reads ? call_->input : call_->output;
  if (!pinned) {
    Result<transport::Payload> whole =
        resources_.memory.pin(start, reads ? input_bytes_ : output_bytes_);
    if (!whole) return whole;
    pinned = *whole;
  }
  return transport::Payload{
      .region = pinned->region, .offset = pinned->offset + place.offset, .length = bytes};
}

bool Execution::look(uint32_t slot) {
  Active& active = active_[slot];
  if (active.head && !look_at_head(active)) return false;
  if (active.body) {
    const engine::Outcome outcome = resources_.endpoint.peek(active.body);
    if (!outcome.done) return false;
    active.body = {};
    if (!arrived_well(active, outcome)) return false;
  }
  const bool stored = active.small || active.step.kind == StepKind::kReceiveReduce;
  if (active.step.kind == StepKind::kSend || !stored) {
    finish(slot);
    return true;
  }
  active.phase = Phase::kArrived;
  combine(slot);
  return true;
}

// False: it is not done yet, or all has failed.
bool Execution::look_at_head(Active& active) {
  const engine::Outcome outcome = resources_.endpoint.peek(active.head);
  if (!outcome.done) return false;
  active.head = {};
  const bool receives = active.step.kind != StepKind::kSend;
  engine::Outcome judged = outcome;
  if (outcome.ok && receives) {
    judged.ok = outcome.bytes >= Signature::kBytes;
    judged.error = ErrorCode::kInvalid;
    if (judged.ok) compare(active.step.peer, Signature::read(active.small_slot.start));
    if (failed_) return false;
    // Of equal calls the lengths are equal.
    judged.bytes = active.small ? outcome.bytes - Signature::kBytes : active.step.bytes;
  }
  return arrived_well(active, judged);
}

bool Execution::arrived_well(Active& active, const engine::Outcome& outcome) {
  const Step& step = active.step;
  const bool sends = step.kind == StepKind::kSend;
  if (outcome.ok && (sends || outcome.bytes == step.bytes)) return true;
  // Who says goodbye has ended all its calls, so it has what was sent to it.
  if (sends && resources_.mesh.said_goodbye(step.peer)) return true;
  // If the peer means another call, that is what to say: its signature may have come as well.
  for (uint32_t rest = board_.live(); rest != 0 && !failed_; rest &= rest - 1) {
    Active& other = active_[static_cast<size_t>(std::countr_zero(rest))];
    if (other.phase == Phase::kPosted && other.head && other.step.kind != StepKind::kSend &&
        &other != &active) {
      const engine::Outcome head = resources_.endpoint.peek(other.head);
      if (!head.done) continue;
      other.head = {};
      if (head.ok && head.bytes >= Signature::kBytes) {
        compare(other.step.peer, Signature::read(other.small_slot.start));
      }
    }
  }
  if (failed_) return false;
  failed_ = true;
  failure_ = resources_.mesh.cause(step.peer, outcome.ok ? ErrorCode::kTruncated : outcome.error);
  return false;
}

void Execution::compare(uint32_t peer, const Signature& theirs) {
  const Signature mine = signature_with(peer, false);
  if (theirs == mine) return;
  failed_ = true;
  failure_ = {ErrorCode::kInvalid, peer,
              "rank " + std::to_string(resources_.members.rank) + " is in " + mine.text() +
                  ", rank " + std::to_string(peer) + " in " + theirs.text()};
}

// Every operation on an aborted connection ends.
bool Execution::settled() {
  for (uint32_t rest = board_.live(); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    Active& active = active_[slot];
    if (active.head && !resources_.endpoint.peek(active.head).done) continue;
    active.head = {};
    if (active.body && !resources_.endpoint.peek(active.body).done) continue;
    active.body = {};
    finish(slot);
  }
  if (!board_.empty()) return false;
  if (input_) resources_.memory.unpin(*input_);
  if (output_) resources_.memory.unpin(*output_);
  input_.reset();
  output_.reset();
  return true;
}

}  // namespace heddle::collectives
